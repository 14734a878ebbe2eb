import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CsvAmount, csvLine } from './csv.ts';

describe('a line of CSV', () => {
  it('quotes what has commas, quotes or line breaks, and ends with CRLF', () => {
    assert.equal(csvLine(['a', 'b,c', 'say "d"', 'e\nf', 7, null]), 'a,"b,c","say ""d""","e\nf",7,\r\n');
  });

  it('keeps spreadsheets from taking text for a formula', () => {
    assert.equal(csvLine(['=1+1', '+1', '-1', '@x', '\t=1']), "'=1+1,'+1,'-1,'@x,'\t'=1\r\n");
    assert.equal(csvLine(['＝1+1', '＋1', '－1', '＠x']), "'＝1+1,'＋1,'－1,'＠x\r\n");
    assert.equal(csvLine(['=HYPERLINK("http://x","y")']), '"\'=HYPERLINK(""http://x"",""y"")"\r\n');
  });

  it('keeps those that begin another cell behind a semicolon or a tab from it too', () => {
    assert.equal(csvLine(['a;=1+1', 'b;  -1', 'c\t@x', 'd;e;＝1']), "a;'=1+1,b;  '-1,c\t'@x,d;e;'＝1\r\n");
    assert.equal(csvLine(['a=1', 'b; c', 'd - e']), 'a=1,b; c,d - e\r\n');
    // Where `;` splits, the quotes around a cell that is not the first one are text, and a line break in it ends the row.
    assert.equal(csvLine([1, 'a,b;=1+1', 'c\n=1+1', 'd;"=1+1"']), `1,"a,b;'=1+1","c\n'=1+1","d;""'=1+1"""\r\n`);
  });

  it('leaves amounts as they are', () => {
    assert.equal(csvLine([new CsvAmount('-1.5'), -2]), '-1.5,-2\r\n');
  });
});
