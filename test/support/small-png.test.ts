import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { beside, cut, differingPixels, type Picture, readPng, writePng } from './small-png.ts';

/** White, with a coloured box from a column on. */
function boxAt(left: number, color: number): Picture {
  const pixels = Buffer.alloc(20 * 10 * 3, 255);
  for (let y = 2; y < 8; y++) pixels.fill(color, (y * 20 + left) * 3, (y * 20 + left + 4) * 3);
  return { width: 20, height: 10, pixels };
}

describe('small pictures', () => {
  it('are decoded as they were encoded, also several next to each other', () => {
    const pictures = [boxAt(3, 0), boxAt(9, 120)];
    const whole = readPng(writePng(beside(pictures)));
    assert.deepEqual([whole.width, whole.height], [40, 10]);
    for (const [at, picture] of pictures.entries()) assert.deepEqual(cut(whole, at * 20, 20, 10), picture);
  });

  it('are similar if edges are off by a pixel or colours by a little, and differ if something moved, disappeared or changed colour', () => {
    const box = boxAt(3, 0);
    assert.equal(differingPixels(box, boxAt(4, 30), 40), 0);
    assert.ok(differingPixels(box, boxAt(6, 0), 40) >= 12);
    assert.equal(differingPixels(box, boxAt(3, 90), 40), 24);
    assert.equal(differingPixels(box, boxAt(3, 255), 40), 24);
  });
});
