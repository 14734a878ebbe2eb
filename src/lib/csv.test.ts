import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { parse } from 'csv-parse/sync';
import { CsvAmount, csvLine } from './csv.ts';

describe('csvLine', () => {
  it('quotes cells with commas, quotes or line breaks, and ends with CRLF', () => {
    assert.equal(csvLine(['a', 'b,c', 'say "d"', 'e\nf', 7, null]), 'a,"b,c","say ""d""","e\nf",7,\r\n');
  });

  it('prevents spreadsheets from reading text as a formula', () => {
    assert.equal(csvLine(['=1+1', '+1', '-1', '@x', '\t=1']), "'=1+1,'+1,'-1,'@x,'\t'=1\r\n");
    assert.equal(csvLine(['＝1+1', '＋1', '－1', '＠x']), "'＝1+1,'＋1,'－1,'＠x\r\n");
    assert.equal(csvLine(['=HYPERLINK("http://x","y")']), '"\'=HYPERLINK(""http://x"",""y"")"\r\n');
  });

  it('prevents that in spreadsheets that split at a semicolon or tab', () => {
    assert.equal(csvLine(['a;=1+1', 'b;  -1', 'c\t@x', 'd;e;＝1']), "a;'=1+1,b;  '-1,c\t'@x,d;e;'＝1\r\n");
    assert.equal(csvLine(['a=1', 'b; c', 'd - e']), 'a=1,b; c,d - e\r\n');
    // If `;` splits, the quotes around all cells but the first are text, and a line break in them ends the row.
    assert.equal(csvLine([1, 'a,b;=1+1', 'c\n=1+1', 'd;"=1+1"']), `1,"a,b;'=1+1","c\n'=1+1","d;""'=1+1"""\r\n`);
  });

  it('finds signs after blanks and quotes', () => {
    assert.equal(csvLine([' =1+1', '\u00a0@x', 'a b', ' - a']), "' =1+1,'\u00a0@x,a b,' - a\r\n");
    assert.equal(csvLine(['"=1+1"']), '"\'""=1+1"""\r\n');
  });

  it('writes amounts unchanged, and nothing else as an amount', () => {
    assert.equal(csvLine([new CsvAmount('-1.5'), -2]), '-1.5,-2\r\n');
    assert.equal(csvLine([new CsvAmount('-1+1'), new CsvAmount('=1'), new CsvAmount('1,2')]), `'-1+1,'=1,"1,2"\r\n`);
  });

  it('does not change text that it has already protected', () => {
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
        // Query parameters, and a message.
        "const query = { ...queryOf({ ...given, keyId: given.key }, filters), groupBy: groupBy.join(',') };",
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
