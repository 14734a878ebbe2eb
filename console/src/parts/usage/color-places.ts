/** An id and the place of its colour. */
export type Placed = readonly [id: string, place: number];

/** Older ids lose their colours. */
const KNOWN_MAX = 300;

/**
 * Assigns colours. Known ids keep theirs, new ids get the one that the fewest ids have and that the chart does not have yet. If two known ids of a
 * chart have the same, the second one differs in this chart only.
 *
 * @param ids of a chart, at most `count`
 */
export function placesOf(ids: readonly string[], known: readonly Placed[], count: number) {
  const before = new Map(known);
  const places = new Map<string, number>();
  const users = new Array<number>(count).fill(0);
  for (const place of before.values()) users[place]!++;
  const isFree = (place: number): boolean => ![...places.values()].includes(place);
  for (const id of ids) {
    const place = before.get(id);
    if (place !== undefined && isFree(place)) places.set(id, place);
  }
  const added: Placed[] = [];
  for (const id of ids) {
    if (places.has(id)) continue;
    const free = users.flatMap((_, place) => (isFree(place) ? [place] : []));
    const place = free.reduce((best, each) => (users[each]! < users[best]! ? each : best), free[0] ?? 0);
    places.set(id, place);
    if (before.has(id)) continue;
    users[place]!++;
    added.push([id, place]);
  }
  return { places, next: added.length === 0 ? known : [...known, ...added].slice(-KNOWN_MAX) };
}
