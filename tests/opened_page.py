"""A page in a browser: what it draws, says and asks for."""

from __future__ import annotations

SOFTWARE_NOTE = "GPU stall due to ReadPixels"  # of drawing without a graphics card


def eventually(page, check):
    """Assert that a check holds within ten seconds: drawing follows the frames of the browser."""
    for _ in range(100):
        if check():
            return
        page.wait_for_timeout(100)
    assert check()


class Opened:
    """A page, what its console said and what it asked the network for."""

    def __init__(self, page, file):
        self.page, self.errors, self.requests = page, [], []
        page.on("console", self.note)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(file.as_uri())
        page.wait_for_selector('[data-lowland-state="ready"]', timeout=20_000)

    def note(self, line):
        if line.type in ("error", "warning") and SOFTWARE_NOTE not in line.text:
            self.errors.append(line.text)

    def box(self):
        return self.page.locator("#map .ll-plot").bounding_box()

    def picture(self):
        return self.page.evaluate("document.querySelector('#map canvas').toDataURL()")

    def drag(self, corners):
        """Drag through places that are given as shares of the plot."""
        box = self.box()
        places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
        self.page.mouse.move(*places[0])
        self.page.mouse.down()
        for place in places[1:]:
            self.page.mouse.move(*place, steps=4)
            self.page.wait_for_timeout(15)  # the lasso takes a corner every 10 ms
        self.page.mouse.up()

    def wait_for_status(self, text):
        self.page.wait_for_function(
            "text => document.querySelector('#map [role=status]').textContent.includes(text)", arg=text
        )

    def colors(self):
        """Return the colours of the map with their numbers of pixels, the largest first."""
        return self.page.evaluate(
            """() => {
              const canvas = document.querySelector('#map canvas');
              const copy = new OffscreenCanvas(canvas.width, canvas.height);
              const place = copy.getContext('2d', { willReadFrequently: true });
              place.drawImage(canvas, 0, 0);
              const { data } = place.getImageData(0, 0, canvas.width, canvas.height);
              const counts = {};
              for (let i = 0; i < data.length; i += 4) {
                if (data[i + 3] < 200) continue;
                const key = [data[i], data[i + 1], data[i + 2]].map((v) => v >> 4).join();
                counts[key] = (counts[key] || 0) + 1;
              }
              return Object.entries(counts).filter(([, n]) => n > 20).sort((a, b) => b[1] - a[1]);
            }"""
        )
