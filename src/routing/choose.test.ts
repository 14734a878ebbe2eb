import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Model, Route } from '../catalog/catalog.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import { chooseRoute } from './choose.ts';

const free = {
  inputNanoPerMillion: 0n,
  cachedInputNanoPerMillion: 0n,
  cacheWriteNanoPerMillion: 0n,
  cacheWrite1hNanoPerMillion: 0n,
  imageInputNanoPerMillion: 0n,
  outputNanoPerMillion: 0n,
  imageOutputNanoPerMillion: 0n,
  perImageNano: null,
  perSearchUnitNano: null,
  perCallNano: null,
};

function modelWith(routes: Model['routes']): Model {
  return {
    id: 'm',
    operations: new Set(['chat']),
    price: { base: free, timeOfDay: null },
    contextTokensMax: null,
    outputTokensMax: null,
    tokenFactor: null,
    routes,
  };
}

const route = (providerId: string, priority = 0, weight = 1): Route => ({
  providerId,
  providerModel: 'p',
  priority,
  weight,
});

const choose = (routes: readonly Route[], chance: number): string =>
  chooseRoute(modelWith({ chat: routes, messages: [] }), 'chat', () => chance).providerId;

describe('chooseRoute', () => {
  it('refuses a model without a route on the protocol, and blames the model', () => {
    const model = modelWith({ chat: [], messages: [route('a')] });
    assert.throws(
      () => chooseRoute(model, 'chat', () => 0),
      (error) => error instanceof GatewayError && error.kind === 'routeNotConfigured' && error.param === 'model',
    );
  });

  it('takes routes of the protocol only', () => {
    const model = modelWith({ chat: [route('a')], messages: [route('b')] });
    assert.equal(chooseRoute(model, 'messages', () => 0).providerId, 'b');
  });

  it('takes the only route without asking for chance', () => {
    const model = modelWith({ chat: [route('a')], messages: [] });
    const chosen = chooseRoute(model, 'chat', () => assert.fail('there is nothing to choose'));
    assert.equal(chosen.providerId, 'a');
  });

  it('takes the lowest priority number first, however little its weight', () => {
    const routes = [route('a', 1, 1_000_000), route('b', 0, 1), route('c', 2, 5)];
    for (const chance of [0, 0.5, 0.999]) assert.equal(choose(routes, chance), 'b');
  });

  it('divides chance among routes of one priority by weight', () => {
    const routes = [route('a', 0, 1), route('b', 0, 3), route('backup', 9, 100)];
    assert.deepEqual(
      [0, 0.24, 0.25, 0.5, 0.99].map((chance) => choose(routes, chance)),
      ['a', 'a', 'b', 'b', 'b'],
    );
  });

  it('gives each route of the best priority exactly its part of the chances', () => {
    const routes = fc.array(fc.record({ priority: fc.nat({ max: 2 }), weight: fc.integer({ min: 1, max: 5 }) }), {
      minLength: 1,
      maxLength: 5,
    });
    fc.assert(
      fc.property(routes, (drawn) => {
        const all = drawn.map(({ priority, weight }, i) => route(String(i), priority, weight));
        const best = Math.min(...all.map(({ priority }) => priority));
        const parts = all
          .filter(({ priority }) => priority === best)
          .flatMap(({ providerId, weight }) => Array<string>(weight).fill(providerId));
        // The middle of each part, so that no rounding decides.
        const chosen = parts.map((_, i) => choose(all, (i + 0.5) / parts.length));
        assert.deepEqual(chosen, parts);
      }),
      { numRuns: 200 },
    );
  });

  it('always finds a route, also at the very end of chance', () => {
    const routes = [route('a', 0, 999_999), route('b', 0, 1), route('c', 0, 3)];
    for (const chance of [1 - Number.EPSILON / 2, 1]) assert.equal(choose(routes, chance), 'c');
  });
});
