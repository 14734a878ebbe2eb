import {
  type ConnectionFigures,
  type Database,
  executeText,
  GENERIC_PLANS,
  type Parameter,
  type Query,
  type Queryable,
  type ReadThenWrite,
  SLICE_PLANS,
  type Statement,
} from './database.ts';
import { type EmbeddedEngine, FIRST_SCHEMA } from './embedded-engine.ts';
import { createLanes, type LaneTurns, type Turns } from './lanes.ts';

/** The one session of the embedded engine, and what all schemas that work in it share. */
export interface EmbeddedSession {
  readonly engine: EmbeddedEngine;
  /** Runs work when it is its turn: nothing else may run during a transaction of several messages. */
  exclusive<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result>;
  readonly lanes: LaneTurns;
  readonly audits: Turns;
  figures(): readonly ConnectionFigures[];
  close(): Promise<void>;
}

/** A schema of the engine. */
interface Place {
  readonly engine: EmbeddedEngine;
  readonly schema: string;
  /** A statement under the name by which it is prepared: a plan that was made in one schema would be made anew in another one. */
  named(statement: Statement): Statement;
}

/**
 * The embedded database in one of its schemas. The session goes there when the last message was of another one, with a statement of its
 * own before the first of the message. `close` closes the session if the schema is the one in which it has begun; the others
 * end with it.
 */
export function createEmbeddedHandle(session: EmbeddedSession, schema: string = FIRST_SCHEMA): Database {
  const { engine, exclusive, audits } = session;
  const place = placeOf(engine, schema);
  const transaction: Database['transaction'] = (work) =>
    exclusive(() => inTransaction([place], ([transaction]) => work(transaction!)));
  const database: Database = {
    engine: 'embedded',
    lane: (name) => lane(name),
    query: (statement, parameters, signal) => exclusive(() => query(place, statement, parameters), signal),
    transaction,
    longTransaction: transaction,
    readThenWrite: (transaction, signal) => exclusive(() => readThenWrite(place, transaction), signal),
    // Other work runs between two slices: what comes meanwhile has its turn before the next one.
    openSnapshots: async () => ({
      read: (reads) => exclusive(() => readSlice(place, reads)),
      nameState: async () => null,
      useState: async () => undefined,
      close: async () => undefined,
    }),
    readTables: (work) => audits.run(async () => work(await database.openTables())),
    openTables: async () => ({
      async query<Row>(statement: Statement, parameters: readonly Parameter[] = []) {
        const [rows] = await exclusive(() => readSlice(place, [{ statement, parameters }]));
        return rows as Row[];
      },
      close: async () => undefined,
    }),
    async script(sql) {
      await exclusive(() => engine.run({ name: 'database.script', schema, sql, to: 0, rollsBack: true }));
    },
    async subscribe(channel, onPayload) {
      const unlisten = await exclusive(() => engine.listen(channel, onPayload));
      return { isConnected: true, close: () => exclusive(unlisten) };
    },
    figures: () => session.figures(),
    close: schema === FIRST_SCHEMA ? () => session.close() : async () => undefined,
  };
  const lane = createLanes(session.lanes, () => database);
  return database;
}

/** One transaction in several schemas. Nothing else runs meanwhile. */
export function inSchemas<Result>(
  { engine, exclusive }: EmbeddedSession,
  schemas: readonly string[],
  work: (transactions: readonly Queryable[]) => Promise<Result>,
): Promise<Result> {
  const places = schemas.map((schema) => placeOf(engine, schema));
  return exclusive(() => inTransaction(places, work));
}

const placeOf = (engine: EmbeddedEngine, schema: string): Place => ({
  engine,
  schema,
  named: schema === FIRST_SCHEMA ? (statement) => statement : namedIn(schema),
});

function namedIn(schema: string): Place['named'] {
  const known = new WeakMap<Statement, Statement>();
  return (statement) => {
    let named = known.get(statement);
    if (named === undefined) {
      named = { name: `${schema} ${statement.name}`, text: statement.text };
      known.set(statement, named);
    }
    return named;
  };
}

/** What SQL's `prepare` takes; the rest (schema changes, `begin`) has no parameters and no plan. */
const PREPARABLE = /^\s*(select|insert|update|delete|merge|values|with)\b/i;

async function query<Row>(place: Place, statement: Statement, parameters: readonly Parameter[] = []): Promise<Row[]> {
  const { engine, schema } = place;
  const { name, text } = statement;
  const named = place.named(statement);
  const run = PREPARABLE.test(text)
    ? { name, schema, statements: [named], sql: executeText(named.name, parameters) }
    : { name, schema, sql: text };
  const [rows] = await engine.run({ ...run, from: -1 });
  return rows as Row[];
}

async function inTransaction<Result>(
  places: readonly Place[],
  work: (transactions: readonly Queryable[]) => Promise<Result>,
): Promise<Result> {
  const { engine, schema } = places[0]!;
  let isOver = false;
  const end = async (sql: 'commit' | 'rollback'): Promise<void> => {
    isOver = true;
    await engine.run({ name: TRANSACTION, sql });
  };
  await engine.run({ name: TRANSACTION, schema, sql: 'begin' });
  try {
    const result = await work(
      places.map((place) => ({
        async query(statement, parameters) {
          if (isOver) throw new Error(`"${statement.name}" comes after the end of its transaction`);
          return query(place, statement, parameters);
        },
      })),
    );
    await end('commit');
    return result;
  } catch (error) {
    // The first failure says why: an engine that has stopped refuses this one as well.
    await end('rollback').catch(() => undefined);
    if (places.length > 1) engine.forgetSchema();
    throw error;
  }
}

const TRANSACTION = 'database.transaction';

const asText = (place: Place, { statement, parameters }: Query): string =>
  executeText(place.named(statement).name, parameters);
const statementsOf = (place: Place, queries: readonly Query[]): Statement[] =>
  queries.map(({ statement }) => place.named(statement));

const BEGIN = ['begin', `set local ${GENERIC_PLANS}`];

async function readThenWrite<Result>(place: Place, { name, reads, decide }: ReadThenWrite<Result>): Promise<Result> {
  const { engine, schema } = place;
  const found = await engine.run({
    name,
    schema,
    statements: statementsOf(place, reads),
    sql: [...BEGIN, ...reads.map((read) => asText(place, read))].join(';'),
    from: BEGIN.length,
    rollsBack: true,
  });
  let last: Parameters<EmbeddedEngine['run']>[0];
  let decided: Result;
  try {
    const { writes, result } = decide(found);
    decided = result;
    const sql = [...writes.map((write) => asText(place, write)), 'commit'].join(';');
    last = { name, schema, statements: statementsOf(place, writes), sql, to: 0, rollsBack: true };
  } catch (error) {
    await engine.run({ name, sql: 'rollback' }).catch(() => undefined);
    throw error;
  }
  await engine.run(last);
  return decided;
}

const BEGIN_SLICE = ['begin read only', ...SLICE_PLANS.map((setting) => `set local ${setting}`)];

/** One transaction. */
function readSlice(place: Place, reads: readonly Query[]): Promise<unknown[][]> {
  return place.engine.run({
    name: reads.at(-1)!.statement.name,
    schema: place.schema,
    statements: statementsOf(place, reads),
    sql: [...BEGIN_SLICE, ...reads.map((read) => asText(place, read)), 'commit'].join(';'),
    from: BEGIN_SLICE.length,
    to: -1,
    rollsBack: true,
  });
}
