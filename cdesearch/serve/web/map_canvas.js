// Draw the map, and find the point under the pointer or next to another point.

import { shapes } from "./shapes.js";

const MARGIN = 26; // pixels
const REACH = 16; // the maximum distance in pixels between the pointer and a point that it selects

export class MapCanvas {
  constructor(canvas) {
    this.canvas = canvas;
    this.points = [];
    this.hits = [];
    this.drift = null;
    this.folder = null; // the number of the folder that is emphasised
    this.chosen = null; // the point whose name is shown
  }

  /** Sets the points, which are objects with x, y, folder and isContext. The objects in `hits` also have a rank. */
  setPoints(points, drift) {
    this.points = points;
    this.drift = drift;
    const xs = points.map((point) => point.x);
    const ys = points.map((point) => point.y);
    this.box = { left: min(xs), right: max(xs), bottom: min(ys), top: max(ys) };
  }

  draw() {
    const { canvas } = this;
    const { width, height } = canvas.getBoundingClientRect();
    if (!width || !this.box) return;
    const scale = devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    const style = getComputedStyle(canvas);
    const colour = (name) => style.getPropertyValue(name).trim();
    const size = this.points.length > 1500 ? 2.3 : 3.4;
    for (const point of this.points) {
      const isFaint = (this.folder !== null && point.folder !== this.folder) || this.hits.length > 0;
      pen.globalAlpha = this.folder !== null && point.folder !== this.folder ? 0.08 : isFaint ? 0.35 : 0.75;
      this.#shape(pen, point, size, colour(`--group${point.folder}`));
      if (point.isContext) this.#ring(pen, point, size + 2.2, colour("--text"));
    }
    pen.globalAlpha = 1;
    this.#drift(pen, colour);
    for (const hit of [...this.hits].reverse()) this.#hit(pen, hit, colour);
    if (this.chosen) this.#ring(pen, this.chosen, 10, colour("--accent"), 2.5);
  }

  place({ x, y }) {
    const { width, height } = this.canvas.getBoundingClientRect();
    const { left, right, bottom, top } = this.box;
    return [
      MARGIN + (width - 2 * MARGIN) * (x - left) / Math.max(right - left, 1e-9),
      height - MARGIN - (height - 2 * MARGIN) * (y - bottom) / Math.max(top - bottom, 1e-9),
    ];
  }

  /** Returns the point under the pointer. Hits take precedence over other points. */
  at(pageX, pageY) {
    if (!this.box) return null;
    const { left, top } = this.canvas.getBoundingClientRect();
    const [x, y] = [pageX - left, pageY - top];
    const nearest = (points) => this.#nearest(points, ([px, py]) => Math.hypot(px - x, py - y), REACH);
    return nearest(this.hits) ?? nearest(this.#visible());
  }

  /** Returns the next point from the chosen one in a direction, such as [1, 0] for the right. */
  beside([dx, dy]) {
    const points = this.hits.length ? this.hits : this.#visible();
    if (!this.chosen) return points[0] ?? null;
    const [x, y] = this.place(this.chosen);
    return this.#nearest(points, ([px, py]) => {
      const along = (px - x) * dx + (py - y) * dy;
      const across = Math.abs((px - x) * dy) + Math.abs((py - y) * dx);
      return along > 0.5 && across <= 2 * along ? along + 2 * across : Infinity;
    }, Infinity);
  }

  #visible() {
    return this.folder === null ? this.points : this.points.filter((point) => point.folder === this.folder);
  }

  #nearest(points, distance, limit) {
    let best = null;
    let least = limit;
    for (const point of points) {
      const found = distance(this.place(point));
      if (found < least) [best, least] = [point, found];
    }
    return best;
  }

  #shape(pen, point, size, colour) {
    const [x, y] = this.place(point);
    pen.save();
    pen.translate(x, y);
    pen.scale(size, size);
    pen.fillStyle = colour;
    pen.fill(shapes[point.folder]);
    pen.restore();
  }

  #ring(pen, point, radius, colour, width = 0.8) {
    const [x, y] = this.place(point);
    pen.beginPath();
    pen.arc(x, y, radius, 0, 2 * Math.PI);
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.stroke();
  }

  #hit(pen, hit, colour) {
    const [x, y] = this.place(hit);
    pen.beginPath();
    pen.arc(x, y, 9, 0, 2 * Math.PI);
    pen.fillStyle = colour("--accent");
    pen.fill();
    pen.strokeStyle = colour("--surface");
    pen.lineWidth = 1.5;
    pen.stroke();
    pen.fillStyle = colour("--on-accent");
    pen.font = "600 11px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillText(String(hit.rank), x, y + 0.5);
  }

  /** Draws a line from the mean of the context (a cross) to the mean of the corpus (a square). */
  #drift(pen, colour) {
    const [x, y] = this.place({ x: this.drift.sample[0], y: this.drift.sample[1] });
    const [tx, ty] = this.place({ x: this.drift.corpus[0], y: this.drift.corpus[1] });
    pen.strokeStyle = pen.fillStyle = colour("--text");
    pen.lineWidth = 2;
    pen.beginPath();
    for (const [dx, dy] of [[7, 0], [0, 7]]) {
      pen.moveTo(x - dx, y - dy);
      pen.lineTo(x + dx, y + dy);
    }
    pen.moveTo(x, y);
    pen.lineTo(tx, ty);
    pen.stroke();
    pen.fillRect(tx - 3.5, ty - 3.5, 7, 7);
  }
}

const min = (values) => values.reduce((least, value) => Math.min(least, value), Infinity);
const max = (values) => values.reduce((most, value) => Math.max(most, value), -Infinity);
