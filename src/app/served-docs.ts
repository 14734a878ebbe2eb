import type { FastifyInstance } from 'fastify';
import type { Endpoint } from '../api/endpoints/endpoint.ts';
import { ACCOUNT_PREFIX, ADMIN_PREFIX } from '../api/management/prefixes.ts';
import { registerOpenApi } from '../api/openapi/register.ts';
import { type AccountParts, accountTable } from '../api/registers/account.ts';
import { type AdminParts, adminTable } from '../api/registers/admin.ts';
import { type PeopleParts, peopleTable } from '../api/registers/people.ts';

interface DescribedParts {
  readonly publicTable: readonly Endpoint[];
  readonly adminParts: AdminParts;
  readonly accountParts: AccountParts;
  readonly people: PeopleParts;
}

/** Serves the description of every address that a gateway has. */
export function serveDocs(app: FastifyInstance, parts: DescribedParts): void {
  registerOpenApi(app, () => ({
    publicTable: parts.publicTable,
    managementTables: [
      { name: 'Account', prefix: ACCOUNT_PREFIX, endpoints: accountTable(parts.accountParts) },
      { name: 'People', prefix: ACCOUNT_PREFIX, endpoints: peopleTable(parts.people) },
      { name: 'Admin', prefix: ADMIN_PREFIX, endpoints: adminTable(parts.adminParts) },
    ],
  }));
}
