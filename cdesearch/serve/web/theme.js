// The theme of the page: light, dark, or that of the system. This is a classic script in the head of the page, because
// a module would run only after the page has been painted in the wrong theme.
"use strict";
(() => {
  const KEY = "cdesearch.theme";
  const THEMES = ["auto", "light", "dark"];
  let theme = "auto";
  try {
    const stored = localStorage.getItem(KEY);
    if (THEMES.includes(stored)) theme = stored;
  } catch { /* storage is disabled */ }

  const apply = () => {
    document.documentElement.dataset.theme = theme;
    const name = document.getElementById("theme-name");
    if (name) name.textContent = theme;
  };
  apply();

  document.addEventListener("DOMContentLoaded", () => {
    apply();
    document.getElementById("theme")?.addEventListener("click", () => {
      theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
      try { localStorage.setItem(KEY, theme); } catch { /* storage is disabled */ }
      apply();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  });
})();
