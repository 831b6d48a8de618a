"""A real browser for tests of the page: Chromium, steered by Selenium."""

import json
import os
import shutil
import time
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

PATIENCE = 30  # seconds
WIDE, DESK, PHONE = (1440, 900), (1180, 820), (375, 740)
# What a page of a test records: violations of its policy, and errors that nobody caught.
RECORDER = """
window.recorded = [];
document.addEventListener("securitypolicyviolation", (event) => recorded.push(`policy: ${event.blockedURI}`));
addEventListener("error", (event) => recorded.push(`error: ${event.message}`));
addEventListener("unhandledrejection", (event) => recorded.push(`rejection: ${event.reason}`));
window.alert = () => recorded.push("a script of a document ran");
"""


def find_browser():
    """The paths of the browser and of its driver; None if one of them is not installed."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


def screenshots():
    """The folder that keeps the screenshots of a test run."""
    folder = Path(os.environ.get("CDESEARCH_SCREENSHOTS", Path(__file__).parents[2] / "dist" / "screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Browser:
    """A browser with one page of the server at `url`."""

    def __init__(self, url):
        executable, driver = find_browser()
        options = webdriver.ChromeOptions()
        options.binary_location = executable
        for argument in (
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-extensions",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
        ):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.url = url
        self.driver = webdriver.Chrome(options=options, service=Service(driver))
        self.command("Page.addScriptToEvaluateOnNewDocument", source=RECORDER)
        permissions = ["clipboardReadWrite", "clipboardSanitizedWrite"]
        self.command("Browser.grantPermissions", origin=url, permissions=permissions)
        self.command("Emulation.setFocusEmulationEnabled", enabled=True)
        self.appear()

    def close(self):
        self.driver.quit()

    def command(self, name, /, **parameters):
        """Send a command of the DevTools protocol."""
        return self.driver.execute_cdp_cmd(name, parameters)

    def appear(self, size=DESK, theme="light"):
        """Choose the size of the window, and the theme of the system."""
        width, height = size
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=size == PHONE
        )
        features = [
            {"name": "prefers-color-scheme", "value": theme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.command("Emulation.setEmulatedMedia", features=features)

    def open(self, address="/"):
        self.driver.get(self.url + address)

    def script(self, code, *arguments):
        return self.driver.execute_script(code, *arguments)

    def every(self, selector):
        """The elements that are visible, in the order of the page."""
        return [one for one in self.driver.find_elements(By.CSS_SELECTOR, selector) if one.is_displayed()]

    def wait(self, condition, what="the page"):
        """The first true result of `condition`."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                if result := condition():
                    return result
            except (StaleElementReferenceException, IndexError):
                pass  # the page has replaced its elements meanwhile
            time.sleep(0.02)
        self.picture("failed")
        raise AssertionError(f"waited in vain for {what}: {self.script('return document.body.innerText')[:2000]}")

    def one(self, selector):
        """The first visible element, waited for."""
        return self.wait(lambda: self.every(selector)[0], selector)

    def text(self, selector):
        return self.one(selector).text

    def type(self, text):
        self.one("#query").send_keys(text)

    def search(self, query):
        """Type a query, and wait for its hits: the links to them."""
        field = self.one("#query")
        field.clear()
        field.send_keys(query)
        self.wait(lambda: self.has_answered(query), f"the hits of {query}")
        return self.every("#hits a.open")

    def has_answered(self, query):
        """Whether the page shows the answer to `query`."""
        return self.script(
            "return [new URLSearchParams(location.search).get('q') ?? '', document.getElementById('hits').ariaBusy]"
        ) == [query, "false"]

    def press(self, *keys):
        self.driver.switch_to.active_element.send_keys(*keys)

    def focused(self):
        return self.driver.switch_to.active_element

    def recorded(self):
        """What went wrong on this page: violations of its policy, and errors."""
        return self.script("return window.recorded")

    def requests(self):
        """The addresses of all requests since the last call."""
        messages = (json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance"))
        return [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]

    def picture(self, name):
        self.driver.save_screenshot(str(screenshots() / f"{name}.png"))
