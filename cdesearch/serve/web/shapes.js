// The shapes of the folders on the map. Each folder has a different shape, so that nobody has to distinguish colours.

import { svg } from "./dom.js";

const PATHS = [ // SVG paths in a box from about -1 to 1
  "M1 0A1 1 0 1 1-1 0A1 1 0 1 1 1 0Z",
  "M-.85-.85H.85V.85H-.85Z",
  "M0-1.1L1 .75H-1Z",
  "M0-1.2L.95 0L0 1.2L-.95 0Z",
  "M0 1.1L1-.75H-1Z",
  "M-.4-1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4Z",
  "M-1.1-.55L-.55-1.1L0-.55L.55-1.1L1.1-.55L.55 0L1.1 .55L.55 1.1L0 .55L-.55 1.1L-1.1 .55L-.55 0Z",
  "M-1.2-.45H1.2V.45H-1.2Z",
];

export const shapes = PATHS.map((path) => new Path2D(path));

/** Returns the shape of a folder as an icon for the legend. */
export function icon(folder) {
  return svg("svg", { viewBox: "-1.4 -1.4 2.8 2.8", class: `shape group${folder}`, "aria-hidden": "true" },
    svg("path", { d: PATHS[folder] }));
}
