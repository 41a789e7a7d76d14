// Snippets name the place that this page came from.
for (const span of document.querySelectorAll(".here")) span.textContent = location.origin + location.pathname;

const element = (name, className, text) => {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};

function lineOf(points) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 1 1");
  svg.setAttribute("preserveAspectRatio", "none");
  const path = document.createElementNS(space, "path");
  let pen = "M";
  let text = "";
  for (const point of points) {
    if (!point.length) { pen = "M"; continue; }
    text += `${pen}${point[0]} ${point[1]}`;
    pen = "L";
  }
  path.setAttribute("d", text);
  svg.append(path);
  return svg;
}

// A quick look is asked for when it comes into view, and again when a slider moves; the last answer asked for counts.
class Look {
  constructor(box) {
    this.box = box;
    this.shape = box.dataset.shape ? box.dataset.shape.split(",").map(Number) : [];
    const names = box.dataset.axes.split("\t");
    const coloured = box.dataset.dtype === "uint8" && this.shape.length > 2 && [3, 4].includes(this.shape.at(-1));
    const leading = Math.max(0, this.shape.length - (coloured ? 3 : Math.min(this.shape.length, 2)));
    this.view = element("div");
    this.sliders = [];
    box.replaceChildren(this.view);
    for (let i = 0; i < leading; i++) this.slider(names[i], this.shape[i]);
    this.where = element("p", "at");
    if (leading) box.append(this.where);
    this.asked = 0;
    this.load();
  }
  slider(name, n) {
    const label = element("label");
    const input = element("input");
    Object.assign(input, { type: "range", min: 0, max: Math.max(n - 1, 0), value: 0 });
    const output = element("output", "", `1 / ${n}`);
    input.addEventListener("input", () => {
      output.textContent = `${Number(input.value) + 1} / ${n}`;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.load(), 60);
    });
    if (n < 2) input.disabled = true;
    label.append(element("span", "", name), input, output);
    this.sliders.push(input);
    this.box.append(label);
  }
  async load() {
    const mine = ++this.asked;
    const query = new URLSearchParams({ array: this.box.dataset.array, at: this.sliders.map((s) => s.value).join(",") });
    let parts;
    try {
      const answer = await fetch(`look?${query}`);
      if (!answer.ok) throw new Error((await answer.text()).trim());
      parts = this.parts(await answer.json());
    } catch (fault) {
      parts = [element("p", "fault", fault.message)];
    }
    if (mine === this.asked) this.view.replaceChildren(...parts);
  }
  parts(found) {
    const parts = [];
    if (found.image) {
      const image = element("img");
      image.src = found.image;
      image.alt = `a picture of ${this.box.dataset.array || "the array"}`;
      parts.push(image);
    }
    if (found.line) parts.push(lineOf(found.line));
    if (found.text !== undefined) parts.push(element("p", "text", found.text));
    if (found.low !== undefined) {
      const scale = element("div", "scale");
      scale.append(element("span", "", found.low), element("span", found.image ? "ramp" : ""), element("span", "", found.high));
      parts.push(scale);
    }
    if (found.note) parts.push(element("p", "at", found.note));
    this.where.textContent = (found.at || []).filter(Boolean).join(" · ");
    return parts;
  }
}

const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    watcher.unobserve(entry.target);
    new Look(entry.target);
  }
}, { rootMargin: "300px" });
for (const box of document.querySelectorAll(".look")) watcher.observe(box);
