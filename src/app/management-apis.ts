import { registerConsole } from '../api/console/register.ts';
import type { Endpoint } from '../api/endpoints/endpoint.ts';
import { createGuard, type Guard } from '../api/management/guard.ts';
import { keyReader } from '../api/management/key-reader.ts';
import { ACCOUNT_PREFIX, ADMIN_PREFIX } from '../api/management/prefixes.ts';
import type { ManagementWatch } from '../api/management/serve.ts';
import { registerOpenApi } from '../api/openapi/register.ts';
import { accountTable, registerAccount } from '../api/registers/account.ts';
import { adminTable, registerAdmin } from '../api/registers/admin.ts';
import { peopleTable, registerPeople } from '../api/registers/people.ts';
import { ownUrl } from '../http/listening.ts';
import { createAccountParts } from './account-parts.ts';
import { type AdministeredParts, createAdminParts } from './admin-parts.ts';
import { type AdminTokens, createAdminTokens } from './admin-tokens.ts';
import { logChange } from './changes.ts';
import type { GatewayOptions } from './gateway-options.ts';
import type { Guesses } from './guesses.ts';
import { createNotices, type Notices } from './notices.ts';
import { createPeople } from './people.ts';
import { holderLimits } from './worker-limits.ts';

interface ManagementApiParts extends Omit<AdministeredParts, 'adminTokens' | 'notices' | 'people'> {
  readonly options: Pick<GatewayOptions, 'adminTokens' | 'localToken' | 'notices' | 'checksResponses'>;
  /** The public addresses, which are described beside those that are served here. */
  readonly publicTable: readonly Endpoint[];
  readonly guesses: Guesses;
}

interface ManagementApis {
  readonly adminTokens: AdminTokens;
  /** Who may see what is served elsewhere for operators, such as metrics. */
  readonly guard: Guard;
  readonly notices: Notices;
}

/** Wires the admin API, the account API and the addresses of people, and serves them with their description and the console. */
export function serveManagementApis(parts: ManagementApiParts): ManagementApis {
  const { app, options, accounting, addresses, brake, changes, databases, settings, clock, guesses } = parts;
  const { databaseClock, adminLanes } = accounting;
  const notices = createNotices({ ...parts, databaseClock, adminLanes, options: options.notices ?? {} });
  notices.start();
  const people = createPeople({
    ...parts,
    directory: databases.directory,
    config: () => settings.current.config,
    ownUrl: () => ownUrl(app, settings.current.config.server),
    deliverLink: notices.deliverLink,
    countMail: notices.countMail,
  });
  const adminTokens = createAdminTokens(databases.directory, clock);
  const guard = createGuard(
    {
      tokens: options.adminTokens,
      localToken: options.localToken ?? null,
      readers: [
        adminTokens.read,
        keyReader({ keyStatuses: accounting.admin.keyStatuses, isMember: people.isMember, addresses, clock }),
        people.sessionReader,
      ],
    },
    { addresses, brake },
  );
  const watch: ManagementWatch = {
    addresses,
    brake,
    changes: changes.log,
    changeCounts: guesses.changes,
    onChange: logChange(parts.logger),
    checksResponses: options.checksResponses ?? false,
    ...holderLimits(parts.part),
    bodyBudgets: parts.bodyBudgets,
  };
  const adminParts = createAdminParts({ ...parts, adminTokens: adminTokens.store, notices, people });
  registerAdmin(app, adminParts, guard, watch);
  const accountParts = createAccountParts(adminParts, people, guesses.vouchers);
  registerAccount(app, accountParts, guard, watch);
  registerPeople(app, people, guard, watch);
  registerConsole(app);
  registerOpenApi(app, () => ({
    publicTable: parts.publicTable,
    managementTables: [
      { name: 'Account', prefix: ACCOUNT_PREFIX, endpoints: accountTable(accountParts) },
      { name: 'People', prefix: ACCOUNT_PREFIX, endpoints: peopleTable(people) },
      { name: 'Admin', prefix: ADMIN_PREFIX, endpoints: adminTable(adminParts) },
    ],
  }));
  return { adminTokens, guard, notices };
}
