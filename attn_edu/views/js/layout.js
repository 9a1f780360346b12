// Boxes set in rows, for a saved picture of several panels.

/**
 * Where boxes of `sizes` [width, height] go in rows of at most `width`: {places, size}.
 * A row also begins at each box k for which `starts(k)`.
 */
export function wrap(sizes, width, gap, starts) {
  let x = 0,
    y = 0,
    tall = 0,
    wide = 0;
  const places = sizes.map(([w, h], k) => {
    if (x && (x + w > width || starts(k))) [x, y, tall] = [0, y + tall + gap, 0];
    const place = [x, y];
    x += w + gap;
    tall = Math.max(tall, h);
    wide = Math.max(wide, x - gap);
    return place;
  });
  return { places, size: [wide, y + tall] };
}
