import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { operationOf } from '../../src/protocols/operations/all.ts';
import type { Model, Route } from '../../src/providers/catalog/catalog.ts';
import { bySession, orderRoutes } from '../../src/providers/routing/choose.ts';
import { COMEBACK_MS, RouteHealth } from '../../src/providers/routing/health.ts';
import { createTestClock } from '../support/clock.ts';

const SESSIONS = Array.from({ length: 1_000 }, (_, i) => `account\0model\0session ${i}`);
const WEIGHTS = { a: 1, b: 2, c: 1 } as const;
type Name = keyof typeof WEIGHTS;
const routes = (Object.entries(WEIGHTS) as [Name, number][]).map(
  ([providerId, weight]): Route => ({ id: providerId, providerId, providerModel: 'x', priority: 0, weight }),
);
const model = { id: 'm', routes: { chat: routes, messages: [] } } as unknown as Model;
const clock = createTestClock('2026-11-20T04:00:00Z');

/** A node with its own observations of routes. */
function createNode() {
  const health = new RouteHealth(clock, () => ({ failuresMax: 3, probeAfterMs: 10_000 }));
  const isDrained = new Set<string>();
  return {
    health,
    isDrained,
    /** The route of a session's next call. */
    routeOf(session: string): Name {
      const drained = { find: (_model: string, { id }: Pick<Route, 'id'>) => (isDrained.has(id) ? {} : null) };
      const ordered = orderRoutes(model, operationOf('chat'), bySession(session, health), undefined, drained as never);
      return ordered.find(({ id }) => health.allows(id, 'account'))!.id as Name;
    },
    fail: (id: Name) => {
      for (let i = 0; i < 3; i++) health.enter(id, `account ${i}`)?.failed('no connection', 'connection');
    },
    probe: (id: Name) => health.enter(id, 'account')!.succeeded(),
  };
}

describe('a thousand sessions over three routes', () => {
  const nodes = [createNode(), createNode()] as const;
  const placesOf = (node = nodes[0]) => SESSIONS.map((session) => node.routeOf(session));
  const moved = (before: readonly Name[], now: readonly Name[]) => before.filter((name, i) => name !== now[i]).length;
  const shareOf = (places: readonly Name[], name: Name) =>
    places.filter((each) => each === name).length / SESSIONS.length;
  const both = (act: (node: (typeof nodes)[0]) => void) => nodes.forEach(act);
  const assertAlike = () => assert.deepEqual(placesOf(nodes[0]), placesOf(nodes[1]));
  let start: Name[];

  it('follow the weights, keep their routes, and have the same routes on two nodes', () => {
    start = placesOf();
    for (const [name, weight] of Object.entries(WEIGHTS) as [Name, number][])
      assert.ok(Math.abs(shareOf(start, name) - weight / 4) < 0.04, `${name}: ${shareOf(start, name)}`);
    assert.equal(moved(start, placesOf()), 0);
    assertAlike();
  });

  it('only move if their route is drained, and return when it is resumed', () => {
    both(({ isDrained }) => isDrained.add('c'));
    assert.equal(moved(start, placesOf()), start.filter((name) => name === 'c').length);
    assertAlike();
    both(({ isDrained }) => isDrained.clear());
    assert.deepEqual(placesOf(), start);
  });

  it('only move if their route fails, and return gradually after its probe', () => {
    both((node) => node.fail('b'));
    const away = placesOf();
    assert.equal(moved(start, away), start.filter((name) => name === 'b').length);
    assertAlike();
    clock.advance(10_000);
    both((node) => node.probe('b'));
    const shares: number[] = [];
    for (let i = 0; i <= 4; i++) {
      shares.push(shareOf(placesOf(), 'b'));
      clock.advance(COMEBACK_MS / 4);
    }
    for (const [i, share] of shares.entries()) assert.ok(Math.abs(share - (0.5 * i) / 4) < 0.05, shares.join());
    assert.deepEqual(placesOf(), start);
    assertAlike();
  });

  it('find the prompt of their last call cached in nearly all calls, compared with a third of them for random routes', () => {
    let hits = 0;
    let calls = 0;
    const last = new Map<string, Name>();
    for (let turn = 0; turn < 10; turn++) {
      if (turn === 5) both((node) => node.fail('b'));
      for (const session of SESSIONS) {
        const place = nodes[turn % 2]!.routeOf(session);
        if (turn > 0) calls++;
        if (last.get(session) === place) hits++;
        last.set(session, place);
      }
    }
    // If the route with half of the sessions fails, each of them has one cache miss.
    assert.ok(hits / calls > 0.94, `${hits} of ${calls}`);
  });
});
