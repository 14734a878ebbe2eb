import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { dearestImageNano, type ImagePrices, imagePriceNano } from './image-prices.ts';

describe('the price of an image', () => {
  const table: ImagePrices = {
    low: 1n,
    high: { '1024x1024': 4n, default: 5n },
    medium: { '1024x1024': 2n },
    '2048x2048': 6n,
    default: 3n,
  };
  const cases: readonly [what: string, quality: string | null, size: string | null, price: bigint][] = [
    ['goes by quality', 'low', '1024x1024', 1n],
    ['goes by quality and size', 'high', '1024x1024', 4n],
    ['goes by the default of its quality for a size that is not named', 'high', '1x1', 5n],
    ['goes by the default of its quality for a size that is not known', 'high', null, 5n],
    ['goes by the default of all if its quality has none', 'medium', '1x1', 3n],
    ['goes by size if its quality is not named', 'auto', '2048x2048', 6n],
    ['goes by size if its quality is not known', null, '2048x2048', 6n],
    ['goes by the default if neither is named', 'auto', 'auto', 3n],
    ['goes by the default if neither is known', null, null, 3n],
    ['ignores names that every object inherits', 'constructor', 'toString', 3n],
  ];
  for (const [what, quality, size, price] of cases) {
    it(what, () => {
      assert.equal(imagePriceNano(table, quality, size), price);
    });
  }

  it('is not chosen by a size spelled like a quality, or by a quality spelled like a size', () => {
    const cheap: ImagePrices = { low: 1n, high: 20n, '256x256': 2n, default: 4n };
    for (const size of ['low', 'high', 'default', ' low', 'auto']) {
      assert.equal(imagePriceNano(cheap, null, size), 4n, size);
      assert.equal(imagePriceNano(cheap, 'auto', size), 4n, size);
      assert.equal(imagePriceNano(cheap, 'high', size), 20n, size);
    }
    assert.equal(imagePriceNano(cheap, '256x256', null), 4n);
    assert.equal(imagePriceNano(cheap, '256x256', '1024x1024'), 4n);
    assert.equal(imagePriceNano({ high: { low: 1n, default: 9n } }, 'high', 'low'), 9n);
    assert.equal(imagePriceNano({ default: { low: 1n, default: 9n } }, null, 'low'), 9n);
  });

  it('goes by the pixels of a size, whatever its spelling', () => {
    const bySize: ImagePrices = { '1024x1024': 1n, '4096*4096': 9n, default: 3n };
    for (const size of ['1024x1024', '1024X1024', '1024*1024', '1024 x 1024', '01024x1024', '1024×1024']) {
      assert.equal(imagePriceNano(bySize, null, size), 1n, size);
      assert.equal(imagePriceNano(bySize, null, size.replaceAll('1024', '4096')), 9n, size);
    }
    assert.equal(imagePriceNano(bySize, null, '1024x10240'), 3n);
  });

  it('may be set by quality below a size, or by a vendor size below a quality', () => {
    const table: ImagePrices = { '1x1': { low: 1n, default: 5n }, high: { '2K': 6n, '4K': 7n }, default: 8n };
    assert.equal(imagePriceNano(table, 'low', '1x1'), 1n);
    assert.equal(imagePriceNano(table, null, '1x1'), 5n);
    assert.equal(imagePriceNano(table, 'high', '4K'), 7n);
    assert.equal(imagePriceNano(table, 'high', '8K'), 8n);
    assert.equal(imagePriceNano(table, 'low', '4K'), 8n);
    assert.equal(imagePriceNano(table, 'high', '2496x1664', '2K'), 6n);
    assert.equal(imagePriceNano(table, 'low', '1x1', '4K'), 1n);
    assert.equal(imagePriceNano({ default: { '2K': 1n, '10x10': 2n, default: 3n } }, null, '10x10', '2K'), 2n);
    assert.equal(imagePriceNano({ default: { '2K': 1n, default: 3n } }, 'high', '9x9', '2K'), 1n);
    assert.equal(imagePriceNano({ default: { low: 1n, default: 3n } }, null, '9x9', 'low'), 3n);
  });

  it('is the highest price of a table without a match and without a default', () => {
    assert.equal(imagePriceNano({ low: 1n, high: { '1x1': 9n } }, 'medium', null), 9n);
    assert.equal(dearestImageNano({ low: 1n, high: { '1x1': 9n, '2x2': 8n } }), 9n);
  });

  it('may be set by size below a default quality', () => {
    const bySize: ImagePrices = { default: { '1x1': 7n, default: 8n } };
    assert.equal(imagePriceNano(bySize, 'high', '1x1'), 7n);
    assert.equal(imagePriceNano(bySize, null, null), 8n);
  });
});
