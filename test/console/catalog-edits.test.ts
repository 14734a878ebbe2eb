import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chosenModelEdits, knownPrices, NO_PRICES, offersOf } from '../../console/src/features/models/listed-models.ts';
import { copyOfModel, listIn, newModel, priceListAt } from '../../console/src/features/models/model-entry.ts';
import { credentialMembers, credentialsOf } from '../../console/src/features/routes/credential-draft.ts';
import { worstStates } from '../../console/src/features/routes/credential-states.ts';
import { type Fields, fieldsOf, listOf, readCatalogText } from '../../console/src/parts/catalog/catalog-value.ts';
import { settingWords } from '../../console/src/parts/catalog/change-words.ts';
import {
  asNewItem,
  editsBetween,
  newEntry,
  withIndexesIn,
  withValueAt,
} from '../../console/src/parts/catalog/edits.ts';
import { fieldsIn, linesOf } from '../../console/src/parts/catalog/field-lines.ts';
import { DAY_TABLES, MODEL_TABLES } from '../../console/src/parts/catalog/price-keys.ts';
import {
  addableTables,
  amountKeys,
  listsAfter,
  newTable,
  priceLists,
  shownTables,
} from '../../console/src/parts/catalog/price-lists.ts';
import { editCatalog } from '../../src/config/catalog-text.ts';

/** Forms of the console change the text of a catalog only where somebody changed a field. */

const TEXT = `# Kept.
providers:
  acme: # of the vendor
    protocol: chat
    baseUrl: https://api.acme.example/v1
    apiKey: \${ACME_KEY}
    headers: { X-Title: hello }
models:
  acme-large:
    displayName: Acme Large
    contextLength: 128k
    aliases: [large]
    operations: [chat]
    tokenFactor: 1.10
    price:
      input: 4.10 # yuan
      output: "16"
      above: { "200000": { input: "8", output: "32" } }
      later:
        - { from: 2026-12-01, input: "4", output: "14" }
    routes:
      - { provider: acme, model: large-1, cost: { input: "1", output: "3" } }
      - { provider: acme, model: large-2, weight: 2 }
groups:
  gold:
    name: Gold
    priceFactorBasisPoints: 8000
    prices: { acme-large: { input: "3", output: "12", later: [{ from: 2027-01-01, input: "3", output: "11" }] } }
`;

const ZONE = 'Asia/Shanghai';
const NOVEMBER_MS = Date.parse('2026-11-15T00:00:00Z');
const catalog = readCatalogText(TEXT);
const lists = priceLists(fieldsOf(catalog.models['acme-large']!.price));

const large = withIndexesIn(catalog.models['acme-large']!);
const NOW = { ms: NOVEMBER_MS, timezone: ZONE };

const editsOf = (after: Fields) => editsBetween(['models', 'acme-large'], large, after);

/** The model with changed members of the price list in force at an instant. */
function priced(changed: Fields, nowMs = NOVEMBER_MS): Fields {
  const list = priceListAt(large, nowMs, ZONE);
  return withValueAt(large, list.path, { ...listIn(large, list), ...changed });
}

/** The lines that differ after edits: `-` before, `+` after. */
function changedLines(edits: Parameters<typeof editCatalog>[1]): string[] {
  const before = TEXT.split('\n');
  const after = editCatalog(TEXT, edits).split('\n');
  return [
    ...before.filter((line) => !after.includes(line)).map((line) => `- ${line.trim()}`),
    ...after.filter((line) => !before.includes(line)).map((line) => `+ ${line.trim()}`),
  ];
}

describe('the forms of the catalog', () => {
  it('an unchanged form makes no edit', () => {
    for (const section of ['providers', 'models', 'groups'] as const) {
      for (const [name, fields] of Object.entries(catalog[section])) {
        const opened = withIndexesIn(fields);
        assert.deepEqual(editsBetween([section, name], opened, { ...opened, weight: '', aliasesOfNone: [] }), []);
      }
    }
    assert.deepEqual(editsOf({ ...large, routes: listOf(large.routes).map((route) => ({ ...fieldsOf(route) })) }), []);
    const [, second] = listOf(large.routes).map(fieldsOf);
    assert.deepEqual(editsOf(withValueAt(large, ['routes', 1], { ...second, weight: 2 })), []);
  });

  it('a price is changed in the list in force, with its comment kept', () => {
    assert.deepEqual(changedLines(editsOf(priced({ input: '4.20' }))), [
      '- input: 4.10 # yuan',
      '+ input: "4.20" # yuan',
    ]);
    const december = Date.parse('2026-11-30T16:00:00Z');
    assert.equal(priceListAt(large, december, ZONE).from, '2026-12-01');
    assert.deepEqual(changedLines(editsOf(priced({ output: '13' }, december))), [
      '- - { from: 2026-12-01, input: "4", output: "14" }',
      '+ - { from: 2026-12-01, input: "4", output: "13" }',
    ]);
  });

  it('prices by input length are changed, added and removed, and all else stays', () => {
    const { above } = fieldsOf(large.price);
    const step = fieldsOf(fieldsOf(above)['200000']);
    assert.deepEqual(changedLines(editsOf(priced({ above: { '200000': { ...step, output: '30' } } }))), [
      '- above: { "200000": { input: "8", output: "32" } }',
      '+ above: { "200000": { input: "8", output: "30" } }',
    ]);
    const added = { ...fieldsOf(above), '500000': { input: '9', output: '36' } };
    assert.deepEqual(changedLines(editsOf(priced({ above: added }))), [
      '- above: { "200000": { input: "8", output: "32" } }',
      '+ above: { "200000": { input: "8", output: "32" }, "500000": { input: "9", output: "36" } }',
    ]);
    assert.deepEqual(changedLines(editsOf(priced({ above: undefined }))), [
      '- above: { "200000": { input: "8", output: "32" } }',
    ]);
  });

  it('a new table starts from the prices that it replaces', () => {
    const list = fieldsOf(large.price);
    assert.deepEqual(newTable('above', list, ZONE), { '': { input: '4.10', output: '16' } });
    assert.deepEqual(newTable('thinking', list, ZONE), { input: '4.10', output: '16' });
    const timeOfDay = newTable('timeOfDay', { input: '4', output: '16' }, ZONE);
    const text = editCatalog('', newEntry(['models', 'm'], { price: { input: '4', output: '16', timeOfDay } }));
    assert.equal(
      text,
      `models:
  m:
    price:
      input: "4"
      output: "16"
      timeOfDay:
        id: day
        timezone: Asia/Shanghai
        peak:
          hours:
            - 09:00-21:00
          input: "4"
          output: "16"
        offPeak:
          input: "4"
          output: "16"
`,
    );
  });

  it('a table that has no form is not shown, and not added a second time', () => {
    const bySize = { perImage: { low: '1', high: { '1024x1024': '2' } } };
    assert.deepEqual(shownTables(bySize, MODEL_TABLES), []);
    assert.ok(!addableTables(bySize, MODEL_TABLES).includes('perImage'));
    assert.deepEqual(shownTables({ perImage: { low: '1', high: '2' } }, DAY_TABLES), ['perImage']);
    assert.ok(!addableTables({ outputAbove: {} }, DAY_TABLES).includes('thinking'));
    assert.deepEqual(amountKeys({ perImage: '1' }), ['perImage']);
    assert.deepEqual(amountKeys({}), ['input', 'cachedInput', 'output']);
  });

  it('a day begins in the billing time zone', () => {
    const start = Date.parse('2026-11-30T16:00:00Z');
    assert.equal(listsAfter(lists, start - 1, ZONE).length, 1);
    assert.equal(listsAfter(lists, start, ZONE).length, 0);
  });

  it('routes are changed, added and removed, and the others keep what the form does not know', () => {
    const [first, second] = listOf(large.routes).map(fieldsOf);
    const added = { provider: 'spare', model: 'l', priority: 1, weight: '' };
    assert.deepEqual(changedLines(editsOf({ ...large, routes: [{ ...first, weight: 3 }, added] })), [
      '- - { provider: acme, model: large-1, cost: { input: "1", output: "3" } }',
      '- - { provider: acme, model: large-2, weight: 2 }',
      '+ - { provider: acme, model: large-1, cost: { input: "1", output: "3" }, weight: 3 }',
      '+ - provider: spare',
      '+ model: l',
      '+ priority: 1',
    ]);
    assert.deepEqual(changedLines(editsOf({ ...large, routes: [second] })), [
      '- - { provider: acme, model: large-1, cost: { input: "1", output: "3" } }',
    ]);
  });

  it('later prices before and after those of the text are added in order', () => {
    const [december] = listOf(fieldsOf(large.price).later).map(fieldsOf);
    const { from: _from, ...prices } = asNewItem(december!);
    const january = { from: '2027-01-01', ...prices };
    const november = { from: '2026-11-20', ...prices };
    const startsOf = (later: readonly Fields[]) => {
      const text = editCatalog(TEXT, editsOf(priced({ later })));
      return listOf(fieldsOf(readCatalogText(text).models['acme-large']!.price).later).map((list) => fieldsOf(list));
    };
    assert.deepEqual(
      startsOf([december!, january]),
      [{ ...december }, january].map((list) => ({ ...asNewItem(list) })),
    );
    assert.deepEqual(
      startsOf([november, december!]).map(({ from }) => from),
      ['2026-11-20', '2026-12-01'],
    );
    assert.deepEqual(startsOf([]), []);
  });

  it('an emptied field is removed', () => {
    assert.deepEqual(changedLines(editsOf({ ...large, displayName: '', aliases: [] })), [
      '- displayName: Acme Large',
      '- aliases: [large]',
    ]);
  });

  it('a copy has all of the original except its names', () => {
    const copied = copyOfModel(TEXT, 'acme-large');
    const edits = newEntry(['models', 'acme-small'], withValueAt(copied, ['price', 'input'], '1'));
    const copy = readCatalogText(editCatalog(TEXT, edits)).models['acme-small']!;
    const { displayName: _displayName, aliases: _aliases, ...original } = catalog.models['acme-large']!;
    assert.deepEqual(
      { ...copy, tokenFactor: '1.10' },
      { ...original, price: { ...(original.price as object), input: '1' } },
    );
  });

  it('credentials become one or several, and their settings only refer to them', () => {
    const before = withIndexesIn(catalog.providers.acme!);
    const credentials = credentialsOf(before);
    assert.deepEqual(credentials, ['${ACME_KEY}']);
    const several = { ...before, ...credentialMembers([...credentials, { file: '/run/secrets/acme' }]) };
    const text = editCatalog(TEXT, editsBetween(['providers', 'acme'], before, several));
    const { apiKey, apiKeys } = readCatalogText(text).providers.acme!;
    assert.deepEqual([apiKey, apiKeys], [undefined, ['${ACME_KEY}', { file: '/run/secrets/acme' }]]);
    const one = { ...several, ...credentialMembers([{ secret: 'acme' }]) };
    const back = readCatalogText(editCatalog(text, editsBetween(['providers', 'acme'], several, one)));
    assert.deepEqual(back.providers.acme, { ...catalog.providers.acme, apiKey: { secret: 'acme' } });
  });

  it('the state of a credential is the worst one over the routes of its provider', () => {
    const credential = (name: string, state: string) => ({ name, state });
    const routes = [
      { provider: 'acme', credentials: [credential('apiKeys.0', 'active'), credential('apiKeys.1', 'refused')] },
      { provider: 'acme', credentials: [credential('apiKeys.0', 'resting'), credential('apiKeys.1', 'active')] },
      { provider: 'other', credentials: [credential('apiKeys.0', 'refused')] },
    ] as unknown as Parameters<typeof worstStates>[0];
    assert.deepEqual(
      worstStates(routes, 'acme').map(({ name, state }) => `${name} ${state}`),
      ['apiKeys.0 resting', 'apiKeys.1 refused'],
    );
  });

  it('a provider, a model and a group can be added to an empty catalog', () => {
    const edits = [
      ...newEntry(['providers', 'acme'], {
        protocol: 'chat',
        baseUrl: 'https://api.acme.example/v1',
        ...credentialMembers([{ secret: 'acme' }]),
        vendor: '',
        allows: [],
      }),
      ...newEntry(['models', 'acme-large'], {
        ...newModel([]),
        displayName: 'Acme Large',
        contextLength: '128k',
        price: { input: '4.10', cachedInput: '', output: '16' },
        routes: [{ provider: 'acme', model: 'large-2', priority: '', weight: 2 }],
      }),
      ...newEntry(['groups', 'gold'], {
        name: 'Gold',
        models: ['acme-large'],
        priceFactorBasisPoints: 8000,
        prices: { 'acme-large': { input: '3', output: '12' } },
        limits: { tokensPerMinute: '' },
      }),
    ];
    assert.equal(
      editCatalog('', edits),
      `providers:
  acme:
    protocol: chat
    baseUrl: https://api.acme.example/v1
    apiKey:
      secret: acme
models:
  acme-large:
    displayName: Acme Large
    contextLength: 128k
    operations:
      - chat
    price:
      input: "4.10"
      output: "16"
    routes:
      - provider: acme
        model: large-2
        weight: 2
groups:
  gold:
    name: Gold
    models:
      - acme-large
    priceFactorBasisPoints: 8000
    prices:
      acme-large:
        input: "3"
        output: "12"
`,
    );
  });

  it('models of a provider are added together, and models of the catalog get a route to it', () => {
    const listed = ['acme-large', 'large-1', 'vendor/Large-2', 'tiny'].map((id) => ({
      id,
      displayName: null,
      contextLength: 128_000,
      maxOutputTokens: null,
    }));
    assert.deepEqual(
      offersOf(catalog, 'spare', listed).map(({ kind }) => kind),
      ['route', 'new', 'new', 'new'],
    );
    assert.deepEqual(
      offersOf(catalog, 'acme', listed).map(({ kind }) => kind),
      ['route', 'served', 'new', 'new'],
    );
    assert.equal(knownPrices(catalog, 'tiny', NOW), null);
    const [large, , second, tiny] = offersOf(catalog, 'spare', listed);
    const edits = chosenModelEdits(
      catalog,
      'spare',
      ['chat'],
      [
        { offer: large!, prices: NO_PRICES },
        { offer: second!, prices: { input: '5', cachedInput: '', output: '16' } },
        { offer: tiny!, prices: { input: '1', cachedInput: '0.1', output: '2' } },
      ],
      NOW,
    );
    const { models } = readCatalogText(editCatalog(TEXT, edits));
    assert.deepEqual(listOf(models['acme-large']!.routes).at(-1), { provider: 'spare', model: 'acme-large' });
    const { price } = models['vendor/Large-2']!;
    assert.deepEqual(price, {
      input: '5',
      output: '16',
      above: { '200000': { input: '8', output: '32' } },
    });
    assert.deepEqual(models.tiny, {
      contextLength: '128000',
      operations: ['chat'],
      price: { input: '1', cachedInput: '0.1', output: '2' },
      routes: [{ provider: 'spare', model: 'tiny' }],
    });
  });

  it('a difference is told with the names of settings, routes and models', () => {
    const nameOf = (key: string): string => key.toUpperCase();
    const of = (setting: string): string => settingWords(setting, nameOf);
    assert.deepEqual(
      ['price.output', 'routes[acme/large-1].weight', 'price.above[200000].input', 'prices[acme-large].output'].map(of),
      ['OUTPUT', 'ROUTES acme/large-1 WEIGHT', 'ABOVE 200000 INPUT', 'acme-large OUTPUT'],
    );
  });
});

describe('fields with one line each', () => {
  it('are read as they are shown, and refused if a line is none', () => {
    const fields = { temperature: '0.70', 'reasoning.effort': 'low', stop: '["a: b"]' };
    assert.equal(linesOf(fields), 'temperature: 0.70\nreasoning.effort: low\nstop: ["a: b"]');
    assert.deepEqual(fieldsIn(` ${linesOf(fields)}\n\n`), fields);
    assert.equal(linesOf({ a: { b: ['1'] } }), 'a: {"b":["1"]}');
    assert.deepEqual([fieldsIn(''), linesOf(undefined)], [{}, '']);
    for (const line of ['a', 'a:', ': 1', 'a b: 1']) assert.equal(fieldsIn(`x: 1\n${line}`), null);
  });
});
