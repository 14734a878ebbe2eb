import { type AuditLog, changeActor } from '../../changes/audit-log.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import { isRecord } from '../../lib/json/json.ts';
import type { Actor } from '../../people/actor.ts';
import { type ChangeSubject, LineStream, type ManagementEndpoint, type ManagementInput, Repeat } from './endpoint.ts';

export interface ChangingContext {
  readonly actor: Actor;
  readonly scope?: { readonly accountId: string };
  /** Whether something has changed although the request failed. */
  readonly hasChanged?: boolean;
}

interface ChangeSource {
  readonly prefix: string;
  readonly clientAddress: string;
  readonly requestId: string;
  /** User that the command line reported; `null`: none. */
  readonly localUser: string | null;
}

/**
 * Runs a change and records it in the audit log: an entry is written before and completed after it. The subject is read before and after
 * the change, outside of its transaction, so the entry can include concurrent changes. Repeats and changes without effect leave no entry.
 * @throws the error of `run`, or of the audit log if the entry cannot be written; then nothing is changed
 */
export async function runRecorded<Need, Context extends ChangingContext>(
  endpoint: ManagementEndpoint<Need, Context>,
  input: ManagementInput<unknown, unknown>,
  context: Context,
  { prefix, clientAddress, requestId, localUser }: ChangeSource,
  changes: AuditLog,
): Promise<object | null> {
  const { method, path, status, subject } = endpoint;
  const named = subject.named?.(input, context) ?? (input.id === '' || subject.isMadeInAccount ? null : input.id);
  const readNamed = () =>
    named === null || subject.read === undefined ? null : orNone(subject.read(named, input, context));
  const readAtMs = changes.nowMs();
  const before = await readNamed();
  const accountId = context.scope?.accountId ?? accountInPath(subject, input.id) ?? accountOf(before);
  const open = await changes.begin({
    actor: changeActor(context.actor, localUser),
    method,
    path: prefix + path,
    action: actionOf(endpoint),
    subjectKind: subject.kind,
    subjectId: named,
    accountId,
    before,
    clientAddress: clientAddress === '' ? null : clientAddress,
    requestId,
  });
  let result: object | null;
  try {
    result = await endpoint.run(input, context);
  } catch (error) {
    if (error instanceof GatewayError && error.status < 500 && context.hasChanged !== true) await open.withdraw();
    else await open.failed(error instanceof GatewayError ? error.code : 'internal_error');
    throw error;
  }
  if (result instanceof Repeat) {
    await open.withdraw();
    return result.response;
  }
  const response = result instanceof LineStream ? result.inPlaceOf : result;
  const isRead = subject.read !== undefined && named !== null && status !== 201;
  const recorded = response === null ? null : (subject.recorded?.(response) ?? response);
  const shown = isRead ? await Promise.resolve(readNamed()).catch(() => null) : recorded;
  const noted = subject.noted?.(input) ?? null;
  const isSame = method !== 'POST' && isRead && noted === null && !subject.showsNoDifference && isEqual(before, shown);
  if (isSame && (await open.withdrawUnchanged(named, readAtMs))) return result;
  const after = noted === null ? shown : { ...shown, ...noted };
  const respondedId = response === null ? null : (subject.responded?.(response) ?? idOf(response));
  await open.done({
    actor: changeActor(context.actor, localUser),
    subjectId: named ?? respondedId,
    accountId: accountId ?? accountOf(response) ?? (subject.kind === 'account' ? respondedId : null),
    ...(subject.isResponseBefore ? { after: null, before: response } : { after }),
  });
  return result;
}

function isEqual(before: object | null, after: object | null): boolean {
  return before !== null && JSON.stringify(before) === JSON.stringify(after);
}

async function orNone(found: Promise<object | null>): Promise<object | null> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof GatewayError && error.status === 404) return null;
    throw error;
  }
}

function accountInPath(
  { kind, isMadeInAccount }: Pick<ChangeSubject, 'kind' | 'isMadeInAccount'>,
  id: string,
): string | null {
  return id !== '' && (kind === 'account' || isMadeInAccount) ? id : null;
}

function accountOf(value: object | null): string | null {
  return isRecord(value) && typeof value.accountId === 'string' ? value.accountId : null;
}

/** Returns the name of an action, such as `keys.delete`, `accounts.keys.create` or `routes.drain`. */
function actionOf({
  method,
  path,
  status,
}: Pick<ManagementEndpoint<unknown, never>, 'method' | 'path' | 'status'>): string {
  const names = path.split('/').filter((segment) => segment !== '' && segment !== ':id');
  const verb = {
    GET: 'read',
    POST: status === 201 ? 'create' : null,
    PUT: 'replace',
    PATCH: 'change',
    DELETE: 'delete',
  }[method];
  return [...names, ...(verb === null ? [] : [verb])].join('.');
}

export function idOf(result: object | null): string | null {
  if (!isRecord(result)) return null;
  // A drain has no id: its provider and models identify it.
  const names = 'id' in result ? [result.id] : [result.provider, result.model, result.providerModel];
  return names.filter((name) => typeof name === 'string').join(' ') || null;
}
