import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { JsonReader } from './json-reader.ts';
import { scanJson } from './json-scan.ts';
import { MemberNames } from './member-names.ts';

const reader = (text: string) => new JsonReader(Buffer.from(text));

/** The values of wanted members, parsed with `JSON.parse`. */
function wanted(text: string, ...names: string[]): Record<string, unknown> {
  const json = reader(text);
  const values: Record<string, unknown> = {};
  const wantedNames = new MemberNames(...names);
  for (json.enter(); json.nextMember(); ) {
    const name = names[wantedNames.find(json.bytes, json.keyStart, json.keyEnd)];
    if (name === undefined) continue;
    const start = json.offset;
    json.skip();
    values[name] = JSON.parse(json.bytes.toString('utf8', start, json.offset));
  }
  return values;
}

describe('JsonReader', () => {
  it('finds the same members of any object as JSON.parse', () => {
    const key = fc.constantFrom('a', 'id', 'type', 'other', 'é', '"', '\\', '');
    fc.assert(
      fc.property(fc.dictionary(key, fc.jsonValue()), fc.nat(3), (value, indent) => {
        const parsed = JSON.parse(JSON.stringify(value)) as Record<string, unknown>;
        const expected = Object.fromEntries(
          Object.entries(parsed).filter(([name]) => ['a', 'id', 'type'].includes(name)),
        );
        assert.deepEqual(wanted(JSON.stringify(value, null, indent), 'a', 'id', 'type'), expected);
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  it('reads a name with escapes as the decoded name', () => {
    assert.deepEqual(wanted('{"\\u0069d":1}', 'id'), { id: 1 });
  });

  it('accepts any number of other members', () => {
    assert.deepEqual(wanted('{"x":1,"X":2,"x":[{"id":3}],"id":4}', 'id'), { id: 4 });
  });

  it('iterates over the items of an array, whether they are read or not', () => {
    const json = reader('[1,{"a":[2]},[],"x"] ');
    const kinds: string[] = [];
    for (json.enter(); json.nextItem(); ) kinds.push(json.kind);
    assert.deepEqual(kinds, ['number', 'object', 'array', 'string']);
    assert.equal(json.offset, 20);
  });

  it('takes the end of a value from another reader', () => {
    const json = reader('[{"a":[2]},3]');
    json.enter();
    json.nextItem();
    const ahead = json.from(json.offset);
    ahead.skip();
    json.noteEnd(ahead);
    json.skip();
    assert.equal(json.offset, ahead.offset);
    assert.deepEqual([json.nextItem(), json.kind, json.nextItem()], [true, 'number', false]);
  });

  it('reads strings up to a limit, and skips other values', () => {
    assert.equal(reader('"h\\u00e9"').text(16), 'hé');
    assert.equal(reader('"long"').text(3), null);
    assert.equal(reader('7').text(3), null);
    assert.equal(reader('""').text(0), '');
  });
});

describe('JsonReader with long values', () => {
  it('reads the same as a reader without them, whatever it skips', () => {
    const long = fc.oneof(fc.jsonValue(), fc.string({ minLength: 40 }), fc.constant('x'.repeat(100)));
    const value = fc.oneof(fc.array(long), fc.dictionary(fc.string(), fc.oneof(long, fc.array(long))));
    fc.assert(
      fc.property(fc.array(value), fc.infiniteStream(fc.nat(3)), fc.nat(2), (values, choices, indent) => {
        const bytes = Buffer.from(JSON.stringify(values, null, indent));
        const chosen = [...choices.take(200)];
        const steps = (longValues: readonly number[]): unknown[] => {
          const json = new JsonReader(bytes, 0, longValues);
          const seen: unknown[] = [];
          const read = (): void => {
            seen.push(json.kind, json.offset);
            switch (chosen[seen.length % chosen.length]) {
              case 0:
                json.skip();
                break;
              case 1:
                seen.push(json.from(json.offset).text(1_000));
                break;
              default:
                if (json.kind === 'array') for (json.enter(); json.nextItem(); ) read();
                else if (json.kind === 'object') for (json.enter(); json.nextMember(); ) read();
            }
            seen.push(json.offset);
          };
          read();
          return seen;
        };
        assert.deepEqual(steps(scanJson(bytes).longValues), steps([]));
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  it('steps over each long value once, however many values other readers have read', () => {
    const bytes = Buffer.from(JSON.stringify([Array(1_000).fill('x'.repeat(40)), ...Array(1_000).fill([0])]));
    const { longValues } = scanJson(bytes);
    let looks = 0;
    const counted = new Proxy(longValues, {
      get(target, key) {
        looks++;
        return Reflect.get(target, key);
      },
    });
    const json = new JsonReader(bytes, 0, counted);
    for (json.enter(); json.nextItem(); ) {
      const ahead = json.from(json.offset);
      for (ahead.enter(); ahead.nextItem(); ) ahead.skip();
      json.noteEnd(ahead);
      json.skip();
    }
    assert.equal(json.offset, bytes.length);
    assert.ok(looks < 10 * longValues.length, `${looks} looks at ${longValues.length} numbers`);
  });
});

describe('MemberNames', () => {
  const find = (names: MemberNames, key: string) => names.find(Buffer.from(key), 0, Buffer.byteLength(key));

  it('finds a name by its suffix if no complete name is equal', () => {
    const names = new MemberNames('*model', 'draft_model', '*_ids', 'type');
    for (const [key, index] of [
      ['model', 0],
      ['Judge_Model', 0],
      ['judgemode\\u006c', 0],
      ['draftModel', 1],
      ['dr\\u0061ft_model', 1],
      ['skill-ids', 2],
      ['type', 3],
      ['model_type', -1],
      ['mode', -1],
      ['', -1],
    ] as const) {
      assert.equal(find(names, key), index, key);
    }
  });

  it('supports many names', () => {
    const names = new MemberNames(...Array.from({ length: 100 }, (_, n) => `name${n}`));
    for (let n = 0; n < 100; n++) assert.equal(find(names, `name${n}`), n);
  });
});
