import type { FastifyInstance } from 'fastify';
import type { Principals } from '../accounting/accounts/principals.ts';
import type { AdmissionQueue } from '../calls/admission-queue.ts';
import type { RequestWorkers } from '../calls/request-workers.ts';
import type { Databases } from '../db/databases.ts';
import type { PartitionedDatabases } from '../db/home-lanes.ts';
import type { BodyBudgets } from '../http/body-budgets.ts';
import type { ClientAddresses } from '../http/client-address.ts';
import type { RefusalBrake } from '../http/refusal-brake.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import type { Part } from '../lib/part.ts';
import type { RouteHealth } from '../providers/routing/health.ts';
import type { UnpricedUses } from '../requests/unpriced-uses.ts';
import type { Accounting } from './accounting.ts';
import type { Changes } from './changes.ts';
import type { SettingsInForce } from './settings-in-force.ts';

/** What a node has once, and what is served, measured and closed at its end is made of. */
export interface NodeParts {
  readonly nodeId: string;
  /** What this process has of the limits that workers share. */
  readonly part: Part;
  readonly app: FastifyInstance;
  readonly databases: PartitionedDatabases & Pick<Databases, 'figures'>;
  readonly accounting: Accounting;
  readonly settings: SettingsInForce;
  readonly health: RouteHealth;
  readonly principals: Principals;
  readonly changes: Changes;
  readonly admissionQueue: AdmissionQueue;
  readonly requestWorkers: RequestWorkers;
  readonly bodyBudgets: BodyBudgets;
  readonly unpricedUses: UnpricedUses;
  readonly addresses: ClientAddresses;
  readonly brake: RefusalBrake;
  readonly clock: Clock;
  readonly monotonicMs: () => number;
  readonly ids: Ids;
  readonly logger: Logger;
}
