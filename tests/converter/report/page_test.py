"""Opens reports in a headless Chromium, clicks, and takes screenshots: page_test.py SKIFF SAMPLES PICTURES
SKIFF: the tool. SAMPLES: the folder samples/ of the sources. PICTURES: a folder for screenshots, to be looked at."""
import os
import pathlib
import subprocess
import sys
import tempfile

from browser import Browser, find_browser

DESKTOP = (1440, 900)
PHONE = (390, 844)
MOST_MS = 1000  # Until a report is drawn.
MOST_LOADS = 8  # On a busy machine one of several is quick; a slow page never is.
HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"
MOBILENET = "mobilenet_v2_backbone_fp32_onnx/mobilenetv2_backbone_fp32.onnx"


def field(number, value):
    """One field of a protobuf message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value):
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def port(name):
    shape = b"".join(field(1, field(1, size)) for size in (2, 3))
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def relu_model(name):
    """x -> Relu -> Neg -> y as an .onnx file, in which everything has this name."""
    first = field(1, name + "x") + field(2, name + "t") + field(3, name + "relu") + field(4, "Relu")
    second = field(1, name + "t") + field(2, name + "y") + field(3, name + "neg") + field(4, "Neg")
    graph = field(1, first) + field(1, second) + field(2, name) + field(11, port(name + "x")) + field(12, port(name + "y"))
    return field(1, 8) + field(7, graph) + field(8, field(2, 13))


class Check:
    def __init__(self):
        self.failed = 0

    def __call__(self, holds, what):
        print(("ok: " if holds else "FAILED: ") + what)
        self.failed += not holds


def models_folder():
    given = os.environ.get("SKIFF_MODELS")
    return pathlib.Path(given) if given else pathlib.Path(__file__).resolve().parents[4] / "shared" / "models"


def check_page(browser, page, check, pictures, name):
    """What every report can do, at the sizes of a desk and of a phone."""
    times = []
    while len(times) < MOST_LOADS and min(times, default=MOST_MS) >= MOST_MS:
        times.append(browser.open(page, *DESKTOP))
    check(min(times) < MOST_MS, f"{name}: drawn in {min(times):.0f} ms")
    boxes = "document.querySelectorAll('.box').length"
    drawn = browser.evaluate(boxes)
    check(drawn >= 4, f"{name}: {drawn} boxes")
    browser.screenshot(pictures / f"{name}_desktop.png", whole=True)
    browser.click("#graph-scroll .box.node")
    title = browser.evaluate("document.querySelector('.box.selected .title').textContent")
    check(title == browser.evaluate("document.querySelector('#details h3').textContent"), f"{name}: a click shows '{title}'")
    check(browser.evaluate("document.querySelectorAll('#details .tensors li').length") >= 2, f"{name}: with its tensors")
    browser.screenshot(pictures / f"{name}_details.png")
    browser.press("Escape")
    check(browser.evaluate("document.querySelectorAll('.box.selected').length") == 0, f"{name}: Escape lets it go")
    browser.click("#search")
    browser.type(title)
    found = browser.evaluate("document.querySelectorAll('.box.match').length")
    check(0 < found < drawn, f"{name}: the search finds {found}")
    browser.press("Enter")
    check(browser.evaluate("document.querySelectorAll('.box.selected.match').length") == 1, f"{name}: Enter goes to the first")
    browser.press("Escape")
    check(browser.evaluate("document.querySelectorAll('.searching').length") == 0, f"{name}: Escape ends the search")
    before = browser.evaluate("document.querySelector('svg.graph').getAttribute('width')")
    browser.click("#zoom-in")
    check(browser.evaluate("document.querySelector('svg.graph').getAttribute('width')") != before, f"{name}: zoom")
    browser.click("#theme")
    check(browser.evaluate("document.documentElement.dataset.theme") == "dark", f"{name}: dark")
    browser.open(page, *DESKTOP, dark=True)
    browser.screenshot(pictures / f"{name}_dark.png")
    browser.open(page, *PHONE, phone=True)
    wide = browser.evaluate("document.documentElement.scrollWidth")
    check(wide <= PHONE[0], f"{name}: {wide} pixels wide on a phone of {PHONE[0]}")
    browser.screenshot(pictures / f"{name}_phone.png", whole=True)
    browser.click("#graph-scroll .box.node")
    browser.screenshot(pictures / f"{name}_phone_details.png")
    browser.print(pictures / f"{name}.pdf")
    check(browser.evaluate("document.querySelectorAll('.strip').length") > 0, f"{name}: the graph is on paper")
    others = [url for url in browser.requests if not url.startswith(("file:", "about:", "data:"))]
    check(not others and not browser.problems, f"{name}: asks for nothing, and has no errors: {others} {browser.problems}")


def check_folds(browser, page, check, pictures):
    browser.open(page, *DESKTOP)
    boxes = "document.querySelectorAll('.box').length"
    unfolded = browser.evaluate(boxes)
    browser.click("#fold")
    folded = browser.evaluate(boxes)
    check(folded < unfolded, f"fold: {unfolded} boxes become {folded}")
    browser.screenshot(pictures / "folded.png")
    browser.click("#graph-scroll .box.group")
    browser.click("#unfold")
    one = browser.evaluate(boxes)
    check(folded < one < unfolded, f"unfold: one group more, {one} boxes")
    browser.click(".frame .fold")
    check(browser.evaluate(boxes) == folded, "fold: the button of the frame")


def check_bodies(browser, page, check):
    browser.open(page, *DESKTOP)
    browser.click("#graph-scroll .box.of-control")
    browser.evaluate("[...document.querySelectorAll('#details button')].find(b => b.textContent.startsWith('Show ')).id = 'body'")
    browser.click("#body")
    path = browser.evaluate("document.querySelector('#crumbs').innerText")
    check("If" in path and "then" in path, f"bodies: one opens, and says where that is: '{path}'")
    browser.click("#crumbs button")
    check(browser.evaluate("document.querySelectorAll('.box.of-control').length") == 1, "bodies: and back")


def check_hostile(browser, page, check):
    browser.open(page, *DESKTOP)
    browser.click("#graph-scroll .box.node")
    check(browser.evaluate("typeof window.hacked") == "undefined", "hostile: no name ran")
    check(browser.evaluate("document.images.length") == 0, "hostile: no name became an element")
    check(browser.evaluate("document.body.innerText.includes(%r)" % HOSTILE[:30]), "hostile: names are shown as they are")


def main(tool, samples, pictures):
    program = find_browser()
    if program is None:
        print("SKIPPED: no Chromium is installed here (apt install chromium, or SKIFF_BROWSER names one)")
        return 0
    pictures.mkdir(parents=True, exist_ok=True)
    check = Check()
    with tempfile.TemporaryDirectory() as folder, Browser(program) as browser:
        def report(source, name, *options):
            model, page = os.path.join(folder, name + ".skiff"), os.path.join(folder, name + ".html")
            subprocess.run([tool, "convert", source, "-o", model], check=True, capture_output=True)
            subprocess.run([tool, "report", model, source, "-o", page, "--runs", "5", *options], check=True, capture_output=True)
            return page

        hostile = os.path.join(folder, "hostile.onnx")
        pathlib.Path(hostile).write_bytes(relu_model(HOSTILE))
        check_hostile(browser, report(hostile, "hostile"), check)
        branches = pathlib.Path(__file__).resolve().parents[1] / "import/tflite/cases/if_true_f32/model.tflite"
        check_bodies(browser, report(str(branches), "branches"), check)
        characters = samples / "characters" / "characters.onnx"
        check_page(browser, report(str(characters), "characters", "--backends", "xnnpack,reference"), check, pictures, "characters")
        mobilenet = models_folder() / MOBILENET
        if mobilenet.is_file():
            page = report(str(mobilenet), "mobilenet")
            check_page(browser, page, check, pictures, "mobilenet")
            check_folds(browser, page, check, pictures)
        else:
            print(f"without MobileNetV2: {mobilenet} is not here")
    print(f"screenshots: {pictures}")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])))
