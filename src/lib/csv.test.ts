import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { parse } from 'csv-parse/sync';
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

  it('keeps blanks and quotes before a sign from hiding it', () => {
    assert.equal(csvLine([' =1+1', '\u00a0@x', 'a b', ' - a']), "' =1+1,'\u00a0@x,a b,' - a\r\n");
    assert.equal(csvLine(['"=1+1"']), '"\'""=1+1"""\r\n');
  });

  it('leaves amounts as they are, and takes nothing else for an amount', () => {
    assert.equal(csvLine([new CsvAmount('-1.5'), -2]), '-1.5,-2\r\n');
    assert.equal(csvLine([new CsvAmount('-1+1'), new CsvAmount('=1'), new CsvAmount('1,2')]), `'-1+1,'=1,"1,2"\r\n`);
  });

  it('adds its apostrophe once to what has it already', () => {
    for (const text of ['=1+1', ' @x', 'a;=1', 'c\t@x']) {
      const [cell] = parse(csvLine([text]))[0]!;
      assert.equal(csvLine([cell!]), csvLine([text]));
    }
  });

  it('is the only writer of CSV in the gateway and the console', () => {
    const files = globSync(['src/**/*.ts', 'console/src/**/*.{ts,tsx}'], {
      exclude: ['**/*.test.ts', 'src/lib/csv.ts'],
    });
    const ownLines = files.flatMap((file) => {
      const text = readFileSync(file, 'utf8');
      if (!/csv/i.test(text)) return [];
      const joined = /join\(\s*(['"`])(?:[,;]|\\t)\1\s*\)|replace(?:All)?\([^)]*""/;
      return text.split('\n').filter((line) => joined.test(line));
    });
    assert.deepEqual(
      ownLines.map((line) => line.trim()).toSorted(),
      [
        // Parts of a query, and a message.
        "query.groupBy = groupBy.join(',');",
        "throw new CliError(`${file}: The file is empty. Its first line names columns: ${COLUMNS.join(',')}`);",
      ],
      'cells of a table pass csvLine of src/lib/csv.ts',
    );
    const writers = files.filter((file) => /\bcsvLine\(/.test(readFileSync(file, 'utf8')));
    assert.deepEqual(writers.toSorted(), [
      'console/src/features/vouchers/batch-csv.ts',
      'src/api/management/list-csv.ts',
      'src/cli/import/import-keys-file.ts',
    ]);
  });
});
