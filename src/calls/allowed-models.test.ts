import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GatewayError } from '../errors/gateway-error.ts';
import type { AccountGroup } from '../providers/catalog/account-group.ts';
import type { Catalog, Model } from '../providers/catalog/catalog.ts';
import { isShownModel, requireAllowedModel } from './allowed-models.ts';

const models = ['large', 'small'].map((id) => ({ id, aliases: [`old-${id}`] }) as unknown as Model);
const [large] = models as [Model, Model];
const NO_LISTS = { allowedModels: null, memberModels: null, accountModels: null };

function catalogOf(group: Partial<AccountGroup> | null): Catalog {
  const find = (name: string) => models.find(({ id, aliases }) => id === name || aliases.includes(name)) ?? null;
  const whole = group && { id: 'vip', name: 'Very important', isConfigured: true, models: null, ...group };
  return { find, group: whole } as unknown as Catalog;
}

function refusalOf(lists: Partial<typeof LISTS>, group: Partial<AccountGroup> | null = null): string | null {
  try {
    requireAllowedModel(large, { ...NO_LISTS, ...lists }, catalogOf(group));
    return null;
  } catch (error) {
    const { kind, message, param } = error as GatewayError;
    assert.equal(param, 'model');
    return `${kind}: ${message}`;
  }
}
const LISTS: Record<keyof typeof NO_LISTS, ReadonlySet<string> | null> = NO_LISTS;

describe('the models that a call may use', () => {
  it('are all if no list limits them', () => {
    assert.equal(refusalOf({}), null);
    assert.equal(refusalOf({}, {}), null);
  });

  it('are those on the lists of the key, the member, the account and its group, under each of their names', () => {
    const all = new Set(['old-large', 'small']);
    assert.equal(refusalOf({ allowedModels: all, memberModels: all, accountModels: all }, { models: all }), null);
    const other = new Set(['small']);
    const may = 'may not use the model "large". Allowed models: small.';
    assert.equal(refusalOf({ allowedModels: other }), `modelNotAllowed: This API key ${may}`);
    assert.equal(refusalOf({ memberModels: other }), `memberModelNotAllowed: This member ${may}`);
    assert.equal(refusalOf({ accountModels: other }), `accountModelNotAllowed: This account ${may}`);
    assert.equal(
      refusalOf({ allowedModels: all }, { models: other }),
      `accountModelNotAllowed: The group "Very important" of this account ${may}`,
    );
  });

  it('are none if the group of the account is not configured', () => {
    assert.equal(
      refusalOf({}, { name: 'gone', isConfigured: false, models: new Set() }),
      'accountModelNotAllowed: The group "gone" of this account is not configured, so the account may use no model. Ask the operator.',
    );
  });

  it('are shown in model lists', () => {
    const shown = (lists: Partial<typeof LISTS>, group: Partial<AccountGroup> | null = null) =>
      models
        .filter((model) => isShownModel(model, { ...NO_LISTS, ...lists }, catalogOf(group).group))
        .map(({ id }) => id);
    assert.deepEqual(shown({}), ['large', 'small']);
    assert.deepEqual(shown({ accountModels: new Set(['old-small']) }), ['small']);
    assert.deepEqual(shown({}, { models: new Set(['large']) }), ['large']);
    assert.deepEqual(shown({ accountModels: new Set(['small']) }, { models: new Set(['large']) }), []);
  });
});
