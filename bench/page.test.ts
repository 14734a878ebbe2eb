import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withFigures } from './page.ts';

const PAGE = 'before\n<!-- figures: npm run bench -- --record -->\n\nold\n\n<!-- end of figures -->\nbehind\n';

describe('page of figures', () => {
  it('has the new figures in place of the old ones, and the rest as it was', () => {
    const page = withFigures(PAGE, 'new');
    assert.equal(page, PAGE.replace('old', 'new'));
    assert.equal(withFigures(page, 'old'), PAGE);
  });

  it('is not written if it has no marks', () => {
    assert.throws(() => withFigures('text', 'new'), /^Error: There are no marks/);
  });
});
