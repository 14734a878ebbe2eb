import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withFigures } from './page.ts';

const PAGE = 'before\n<!-- figures: npm run bench -- --record -->\n\nold\n\n<!-- end of figures -->\nbehind\n';

describe('page of figures', () => {
  it('gets the new figures, and keeps the rest', () => {
    const page = withFigures(PAGE, 'new');
    assert.equal(page, PAGE.replace('old', 'new'));
    assert.equal(withFigures(page, 'old'), PAGE);
  });

  it('is not written without markers', () => {
    assert.throws(() => withFigures('text', 'new'), /^Error: There are no marks/);
  });
});
