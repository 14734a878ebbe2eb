import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import { operationOf } from '../../protocols/operations/all.ts';
import type { Model, Route } from '../catalog/catalog.ts';
import { byChance, bySession, type Makers, orderRoutes as orderedRoutes, type RandomSource } from './choose.ts';
import type { DrainedRoutes } from './drains/drain.ts';

/** The members of a model that are read. */
const modelWith = (routes: Model['routes']): Model => ({ id: 'm', routes }) as Pick<Model, 'id' | 'routes'> as Model;

const route = (providerId: string, priority = 0, weight = 1, providerModel = 'p'): Route => ({
  id: `m ${providerId} ${providerModel}`,
  providerId,
  providerModel,
  priority,
  weight,
});

const unasked: RandomSource = () => assert.fail('there is nothing to choose');

/** A random source that returns these numbers in order, and fails if more are requested. */
const randomSources = (...drawn: readonly number[]): RandomSource => {
  const left = [...drawn];
  return () => left.shift() ?? assert.fail('more chances were asked for than there are choices');
};

const orderRoutes = (
  model: Model,
  protocol: 'chat' | 'messages',
  randomSource: RandomSource,
  makers?: Makers,
  drained?: DrainedRoutes,
) => orderedRoutes(model, operationOf(protocol), byChance(randomSource), makers, drained);

const order = (routes: readonly Route[], randomSource: RandomSource, continuedId?: string): string[] =>
  orderRoutes(modelWith({ chat: routes, messages: [] }), 'chat', randomSource, { continuedId }).map(
    ({ providerId }) => providerId,
  );

const anyRoutes = fc
  .array(fc.record({ priority: fc.nat({ max: 2 }), weight: fc.integer({ min: 0, max: 5 }) }), {
    minLength: 1,
    maxLength: 6,
  })
  .filter((drawn) => drawn.some(({ weight }) => weight > 0))
  .map((drawn) => drawn.map(({ priority, weight }, i) => route(String(i), priority, weight)));

describe('orderRoutes', () => {
  const refuses = (model: Model, kind: GatewayError['kind']): void =>
    assert.throws(
      () => orderRoutes(model, 'chat', unasked),
      (error) => error instanceof GatewayError && error.kind === kind && error.param === 'model',
    );

  it('refuses a model without a route for the protocol, and blames the model', () => {
    refuses(modelWith({ chat: [], messages: [route('a')] }), 'routeNotConfigured');
  });

  it('refuses a model whose routes for the protocol are all out of service', () => {
    const routes = [route('a', 0, 0), route('b', 1, 0)];
    refuses(modelWith({ chat: routes, messages: [route('c')] }), 'routePolicyInvalid');
  });

  it('uses only routes of the protocol', () => {
    const model = modelWith({ chat: [route('a')], messages: [route('b')] });
    const routes = orderRoutes(model, 'messages', unasked);
    assert.deepEqual(routes, [route('b')]);
  });

  it('uses the only route in service without a random number', () => {
    assert.deepEqual(order([route('a')], unasked), ['a']);
    assert.deepEqual(order([route('off', 0, 0), route('a', 5)], unasked), ['a']);
  });

  describe('with drained routes', () => {
    const refused = (error: unknown): boolean => error instanceof GatewayError && error.kind === 'noHealthyRoute';
    const drained =
      (...providers: readonly string[]) =>
      (routes: readonly Route[], continuedId?: string, signerId?: string): string[] =>
        orderRoutes(
          modelWith({ chat: routes, messages: [] }),
          'chat',
          () => 0,
          { continuedId, signerId },
          {
            find: (_model, { providerId }) =>
              providers.includes(providerId)
                ? { providerId, model: null, providerModel: null, reason: null, drainedBy: 'x', drainedAt: new Date(0) }
                : null,
          },
        ).map(({ providerId, providerModel }) => `${providerId}-${providerModel}`);

    it('omits them', () => {
      assert.deepEqual(drained('a')([route('a'), route('b', 1), route('c', 2)]), ['b-p', 'c-p']);
    });

    it('refuses a call if all are drained or have weight 0', () => {
      assert.throws(() => drained('a')([route('a')]), refused);
      assert.throws(() => drained('a')([route('a'), route('b', 0, 0)]), refused);
    });

    it('routes calls that continue state to that provider only, even if it is drained', () => {
      assert.deepEqual(drained('a')([route('a'), route('b')], 'a'), ['a-p']);
      assert.deepEqual(drained('a', 'b')([route('a'), route('b')], 'a'), ['a-p']);
      assert.throws(() => drained('a', 'b')([route('a'), route('b')], 'gone'), refused);
    });

    it('puts those of the signer after all others', () => {
      const routes = [route('a'), route('b'), route('c', 1), route('a', 1, 1, 'q')];
      assert.deepEqual(drained('a')(routes, undefined, 'a'), ['b-p', 'c-p', 'a-p', 'a-q']);
      assert.deepEqual(drained('a', 'b')(routes, undefined, 'a'), ['c-p', 'a-p', 'a-q']);
    });

    it('uses those of the signer if all are drained', () => {
      assert.deepEqual(drained('a', 'b')([route('a'), route('b')], undefined, 'a'), ['a-p']);
      assert.throws(() => drained('a', 'b')([route('a'), route('b')], undefined, 'gone'), refused);
    });
  });

  describe('with the signer of its thinking', () => {
    const signedBy = (signerId: string, continuedId?: string): string[] => {
      const routes = [route('a'), route('b', 1, 1, 'x'), route('c', 1, 2), route('b', 2, 1, 'y'), route('off', 0, 0)];
      const model = modelWith({ chat: routes, messages: [] });
      const ordered = orderRoutes(model, 'chat', () => 0, { signerId, continuedId });
      return ordered.map(({ providerId, providerModel }) => `${providerId}-${providerModel}`);
    };

    it("puts the signer's routes first and keeps the order of the others", () => {
      assert.deepEqual(signedBy('b'), ['b-x', 'b-y', 'a-p', 'c-p']);
      assert.deepEqual(signedBy('a'), ['a-p', 'b-x', 'c-p', 'b-y']);
    });

    it('has no effect if the signer has no route in service', () => {
      assert.deepEqual(signedBy('gone'), ['a-p', 'b-x', 'c-p', 'b-y']);
      assert.deepEqual(signedBy('off'), ['a-p', 'b-x', 'c-p', 'b-y']);
    });

    it('prefers the provider whose state the call continues', () => {
      assert.deepEqual(signedBy('b', 'a'), ['a-p']);
    });
  });

  it('orders by ascending priority number, regardless of weight and position', () => {
    const routes = [route('c', 2, 5), route('b', 1, 1_000_000), route('a', 0, 1)];
    assert.deepEqual(order(routes, unasked), ['a', 'b', 'c']);
  });

  it('compares priorities as numbers', () => {
    assert.deepEqual(order([route('b', 10), route('a', 9), route('c', 100)], unasked), ['a', 'b', 'c']);
  });

  it('divides the range of random numbers among routes of equal priority by weight', () => {
    const routes = [route('a', 0, 1), route('b', 0, 3), route('backup', 9, 100)];
    for (const [randomSource, first, second] of [
      [0, 'a', 'b'],
      [0.24, 'a', 'b'],
      [0.25, 'b', 'a'],
      [0.5, 'b', 'a'],
      [0.99, 'b', 'a'],
    ] as const) {
      assert.deepEqual(order(routes, randomSources(randomSource)), [first, second, 'backup']);
    }
  });

  it('draws later routes in proportion to the remaining weights', () => {
    const routes = [route('a', 0, 1), route('b', 0, 2), route('c', 0, 3)];
    const counts: Record<string, number> = {};
    // Midpoints of the intervals, to avoid rounding. The remaining routes weigh 3, 4 or 5, each of which divides 60.
    for (let first = 0; first < 6; first++) {
      for (let second = 0; second < 60; second++) {
        const drawn = order(routes, randomSources((first + 0.5) / 6, (second + 0.5) / 60)).join('');
        counts[drawn] = (counts[drawn] ?? 0) + 1;
      }
    }
    // Of 360: 1/6 · 2/5, 1/6 · 3/5, 2/6 · 1/4, 2/6 · 3/4, 3/6 · 1/3, 3/6 · 2/3.
    assert.deepEqual(counts, { abc: 24, acb: 36, bac: 30, bca: 90, cab: 60, cba: 120 });
  });

  it('puts each route of the best priority first in exact proportion to its weight', () => {
    fc.assert(
      fc.property(anyRoutes, (all) => {
        const inService = all.filter(({ weight }) => weight > 0);
        const best = Math.min(...inService.map(({ priority }) => priority));
        const parts = inService
          .filter(({ priority }) => priority === best)
          .flatMap(({ providerId, weight }) => Array<string>(weight).fill(providerId));
        const chosen = parts.map((_, i) => order(all, () => (i + 0.5) / parts.length)[0]);
        assert.deepEqual(chosen, parts);
      }),
      { numRuns: propertyRuns(200) },
    );
  });

  it('returns every route in service once, in order of priority', () => {
    const randomSource = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(anyRoutes, fc.infiniteStream(randomSource), (all, drawn) => {
        const given = [...all];
        const model = modelWith({ chat: all, messages: [] });
        const ordered = orderRoutes(model, 'chat', () => drawn.next().value!);
        const inService = all.filter(({ weight }) => weight > 0);
        assert.deepEqual(new Set(ordered), new Set(inService));
        assert.equal(ordered.length, inService.length);
        for (const [i, { priority }] of ordered.slice(1).entries()) assert.ok(priority >= ordered[i]!.priority);
        assert.deepEqual(all, given, 'the configuration was changed');
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  it('always finds a route, even for the greatest random number', () => {
    const routes = [route('a', 0, 999_999), route('b', 0, 1), route('c', 0, 3)];
    for (const randomSource of [1 - Number.EPSILON / 2, 1])
      assert.deepEqual(
        order(routes, () => randomSource),
        ['c', 'b', 'a'],
      );
  });

  describe('with a provider whose state the call continues', () => {
    it('uses only that provider, regardless of priority and weight', () => {
      const routes = [route('a', 0, 1_000), route('b', 1, 1_000), route('maker', 9, 1)];
      assert.deepEqual(order(routes, unasked, 'maker'), ['maker']);
    });

    it('orders several routes to that provider by priority and weight', () => {
      const routes = [route('maker', 1, 1, 'x'), route('a'), route('maker', 0, 1, 'y'), route('maker', 0, 3, 'z')];
      const model = modelWith({ chat: routes, messages: [] });
      const models = (randomSource: number): string[] =>
        orderRoutes(model, 'chat', randomSources(randomSource), { continuedId: 'maker' }).map(
          ({ providerModel }) => providerModel,
        );
      assert.deepEqual(models(0.24), ['y', 'z', 'x']);
      assert.deepEqual(models(0.25), ['z', 'y', 'x']);
    });

    it('orders all routes if no route leads to that provider', () => {
      assert.deepEqual(order([route('b', 1), route('a', 0)], unasked, 'gone'), ['a', 'b']);
      assert.deepEqual(order([route('b', 1), route('a', 0), route('maker', 0, 0)], unasked, 'maker'), ['a', 'b']);
    });
  });

  describe('with a session', () => {
    const SESSIONS = Array.from({ length: 1_000 }, (_, i) => `account\0m\0session-${i}`);
    const routes = [route('a', 0, 1), route('b', 0, 2), route('c', 0, 1), route('d', 1, 9)];
    const bySessionOf = (session: string, shares: Record<string, number> = {}, all = routes): string[] => {
      const health = { sessionShare: (id: string) => shares[id] ?? 1 };
      const model = modelWith({ chat: all, messages: [] });
      return orderedRoutes(model, operationOf('chat'), bySession(session, health)).map(({ providerId }) => providerId);
    };

    it('chooses the same order each time, by weight, with lower priorities last', () => {
      const firsts = Map.groupBy(SESSIONS, (session) => {
        const ordered = bySessionOf(session);
        assert.deepEqual(ordered, bySessionOf(session));
        assert.equal(ordered[3], 'd');
        return ordered[0]!;
      });
      for (const [name, share] of [
        ['a', 0.25],
        ['b', 0.5],
        ['c', 0.25],
      ] as const) {
        assert.ok(Math.abs(firsts.get(name)!.length / SESSIONS.length - share) < 0.05, name);
      }
    });

    it('moves only the sessions of a route that is removed', () => {
      for (const session of SESSIONS) {
        const [first, second] = bySessionOf(session);
        const without = bySessionOf(
          session,
          {},
          routes.filter(({ providerId }) => providerId !== 'b'),
        );
        assert.equal(without[0], first === 'b' ? second : first);
      }
    });

    it('returns sessions to a route gradually after it was out of service, each permanently', () => {
      let before = new Set<string>();
      for (const share of [0, 0.25, 0.5, 0.75, 1]) {
        const back = new Set(SESSIONS.filter((session) => bySessionOf(session, { 'm b p': share })[0] === 'b'));
        const expected = SESSIONS.length * 0.5 * share;
        assert.ok(Math.abs(back.size - expected) < 50, `${share}: ${back.size}`);
        assert.ok([...before].every((session) => back.has(session)));
        before = back;
      }
    });
  });
});
