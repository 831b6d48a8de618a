// Light, dark, or as the system has it. A plain script in the head, so that no page is painted in the wrong theme.
"use strict";
(() => {
  const KEY = "cdesearch.theme";
  const THEMES = ["auto", "light", "dark"];
  let theme = "auto";
  try {
    const stored = localStorage.getItem(KEY);
    if (THEMES.includes(stored)) theme = stored;
  } catch { /* storage is switched off */ }

  const apply = () => {
    document.documentElement.dataset.theme = theme;
    const name = document.getElementById("theme-name");
    if (name) name.textContent = theme;
    document.dispatchEvent(new Event("themechange"));
  };
  apply();

  document.addEventListener("DOMContentLoaded", () => {
    apply();
    document.getElementById("theme")?.addEventListener("click", () => {
      theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
      try { localStorage.setItem(KEY, theme); } catch { /* as above */ }
      apply();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  });
})();
