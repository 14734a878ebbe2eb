import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { groupDraft, groupEdits, newGroup } from '../../console/src/features/groups/group-draft.ts';
import { modelDraft, modelEdits, newModel } from '../../console/src/features/models/model-draft.ts';
import {
  emptyProvider,
  newProvider,
  providerDraft,
  providerEdits,
} from '../../console/src/features/routes/provider-draft.ts';
import { entryOf, fieldsOf, readCatalogText } from '../../console/src/parts/catalog/catalog-value.ts';
import { settingWords } from '../../console/src/parts/catalog/change-words.ts';
import { listAt, listsAfter, priceLists } from '../../console/src/parts/catalog/price-lists.ts';
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

function model(nowMs = NOVEMBER_MS) {
  const list = listAt(lists, nowMs, ZONE);
  return { list, draft: modelDraft('acme-large', catalog.models['acme-large']!, list) };
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
    const { list, draft } = model();
    assert.deepEqual(modelEdits(draft, draft, list), []);
    const provider = providerDraft('acme', catalog.providers.acme!);
    assert.deepEqual(providerEdits(provider, provider), []);
    const group = groupDraft('gold', catalog.groups.gold!);
    assert.deepEqual(groupEdits(group, group), []);
  });

  it('a price is changed in the list in force, with its comment kept', () => {
    const { list, draft } = model();
    assert.deepEqual(changedLines(modelEdits(draft, { ...draft, prices: { ...draft.prices, input: '4.20' } }, list)), [
      '- input: 4.10 # yuan',
      '+ input: "4.20" # yuan',
    ]);
    const later = model(Date.parse('2026-11-30T16:00:00Z'));
    assert.equal(later.list.from, '2026-12-01');
    assert.deepEqual(
      changedLines(
        modelEdits(later.draft, { ...later.draft, prices: { ...later.draft.prices, output: '13' } }, later.list),
      ),
      ['- - { from: 2026-12-01, input: "4", output: "14" }', '+ - { from: 2026-12-01, input: "4", output: "13" }'],
    );
  });

  it('a day begins in the billing time zone', () => {
    const start = Date.parse('2026-11-30T16:00:00Z');
    assert.equal(listsAfter(lists, start - 1, ZONE).length, 1);
    assert.equal(listsAfter(lists, start, ZONE).length, 0);
  });

  it('routes are changed, added and removed, and the others keep what the form does not know', () => {
    const { list, draft } = model();
    const [first, second] = draft.routes;
    const added = { index: null, provider: 'spare', model: 'l', priority: '1', weight: '' };
    assert.deepEqual(changedLines(modelEdits(draft, { ...draft, routes: [{ ...first!, weight: '3' }, added] }, list)), [
      '- - { provider: acme, model: large-1, cost: { input: "1", output: "3" } }',
      '- - { provider: acme, model: large-2, weight: 2 }',
      '+ - { provider: acme, model: large-1, cost: { input: "1", output: "3" }, weight: 3 }',
      '+ - provider: spare',
      '+ model: l',
      '+ priority: 1',
    ]);
    assert.deepEqual(changedLines(modelEdits(draft, { ...draft, routes: [second!] }, list)), [
      '- - { provider: acme, model: large-1, cost: { input: "1", output: "3" } }',
    ]);
  });

  it('an emptied field is removed', () => {
    const { list, draft } = model();
    assert.deepEqual(changedLines(modelEdits(draft, { ...draft, displayName: '', aliases: [] }, list)), [
      '- displayName: Acme Large',
      '- aliases: [large]',
    ]);
  });

  it('a copy has all of the original except its names', () => {
    const { list, draft } = model();
    const fields = entryOf(TEXT, 'models', 'acme-large');
    const edits = newModel(
      { ...draft, name: 'acme-small', displayName: '', aliases: [], prices: { ...draft.prices, input: '1' } },
      { fields, draft, list },
    );
    const copy = readCatalogText(editCatalog(TEXT, edits)).models['acme-small']!;
    const { displayName: _displayName, aliases: _aliases, ...original } = catalog.models['acme-large']!;
    assert.deepEqual(
      { ...copy, tokenFactor: '1.10' },
      { ...original, price: { ...(original.price as object), input: '1' } },
    );
  });

  it('credentials become one or several, and their settings only refer to them', () => {
    const before = providerDraft('acme', catalog.providers.acme!);
    assert.deepEqual(before.credentials, [{ kind: 'variable', value: 'ACME_KEY' }]);
    const edits = providerEdits(before, {
      ...before,
      credentials: [...before.credentials, { kind: 'file', value: '/run/secrets/acme' }],
    });
    const { apiKey, apiKeys } = readCatalogText(editCatalog(TEXT, edits)).providers.acme!;
    assert.deepEqual([apiKey, apiKeys], [undefined, ['${ACME_KEY}', { file: '/run/secrets/acme' }]]);
  });

  it('a provider, a model and a group can be added to an empty catalog', () => {
    const provider = {
      ...emptyProvider,
      name: 'acme',
      baseUrl: 'https://api.acme.example/v1',
      credentials: [{ kind: 'secret', value: 'acme' }] as const,
    };
    const { draft } = model();
    const edits = [
      ...newProvider(provider),
      ...newModel({ ...draft, routes: draft.routes.slice(1) }, null),
      ...newGroup({ ...groupDraft('gold', catalog.groups.gold!), models: ['acme-large'] }),
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
    aliases:
      - large
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

  it('a difference is told with the names of settings, routes and models', () => {
    const nameOf = (key: string): string => key.toUpperCase();
    const of = (setting: string): string => settingWords(setting, nameOf);
    assert.deepEqual(
      ['price.output', 'routes[acme/large-1].weight', 'price.above[200000].input', 'prices[acme-large].output'].map(of),
      ['OUTPUT', 'ROUTES acme/large-1 WEIGHT', 'ABOVE 200000 INPUT', 'acme-large OUTPUT'],
    );
  });
});
