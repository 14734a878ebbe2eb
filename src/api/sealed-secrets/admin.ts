import { z } from 'zod';
import { credentialProblem, secretName } from '../../config/provider-credentials.ts';
import { SECRETS_MAX } from '../../config/sealed-secrets/sealed-secrets-store.ts';
import { SealingKeyError } from '../../config/sealed-secrets/sealing-keys.ts';
import type { SecretUses } from '../../config/sealed-secrets/secret-uses.ts';
import type { SecretSummary, Secrets } from '../../config/sealed-secrets/secrets.ts';
import { invalidRequest } from '../../errors/gateway-error.ts';
import { signatureOf, signerIdOf } from '../../people/actor.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { type ChangeSubject, conflict, notFound } from '../management/endpoint.ts';
import { at, count, listOf, signerId } from '../management/response-fields.ts';

export interface SealedSecretAdminDependencies {
  readonly secrets: Secrets;
  readonly secretUses: SecretUses;
}

const secretResponse = z
  .strictObject({
    name: z.string(),
    status: z
      .enum(['current_key', 'earlier_key', 'unreadable'])
      .describe(
        'The key of this node that opens the secret. `current_key`: the first key. `earlier_key`: another one, so that the secrets should be rotated. `unreadable`: none.',
      ),
    providers: listOf(z.string()).describe(
      'The providers that use the secret now, or in a scheduled revision of the catalog.',
    ),
    createdAt: at,
    changedAt: at.describe('When the value was set last.'),
    by: z.string().describe('Who set it.'),
    byId: signerId,
  })
  .meta({ id: 'SealedSecret' });
export type SealedSecretResponse = z.infer<typeof secretResponse>;

const list = z.strictObject({ data: listOf(secretResponse) });
export type SealedSecretsResponse = z.infer<typeof list>;

const rotation = z.strictObject({
  resealed: count,
  unreadable: listOf(z.string()).describe('Secrets that no key of this node opens. They are unchanged.'),
});
export type RotationResponse = z.infer<typeof rotation>;

const newValue = z.strictObject({
  value: z
    .string({ error: 'Expected text.' })
    .trim()
    .superRefine((text, context) => {
      const problem = credentialProblem(text);
      if (problem !== null) context.addIssue({ code: 'custom', message: problem });
    })
    .describe('The credential. White space around it is removed. No response ever contains it.'),
});

/** Endpoints that set, list and delete sealed secrets. No response and no entry of the audit log contains a value. */
export function sealedSecretEndpoints({ secrets, secretUses }: SealedSecretAdminDependencies): AdminEndpoint[] {
  async function read(name: string): Promise<SealedSecretResponse | null> {
    const secret = await secrets.find(name);
    return secret && toWire(secret, await secretUses());
  }
  const subject: ChangeSubject = { kind: 'secret', read };

  return [
    adminEndpoint({
      method: 'GET',
      path: '/secrets',
      summary: 'List sealed secrets without their values',
      response: list,
      async run() {
        const uses = await secretUses();
        return { data: (await secrets.list()).map((secret) => toWire(secret, uses)) };
      },
    }),
    adminEndpoint({
      method: 'PUT',
      path: '/secrets/:id',
      // The value is not shown, so a replaced secret can look the same.
      subject: { ...subject, showsNoDifference: true },
      summary: 'Set a sealed secret, which credentials of providers can name; nodes use the value at once',
      body: newValue,
      response: secretResponse,
      async run({ id, body }, { actor }) {
        if (!secretName.safeParse(id).success)
          throw invalidRequest(
            'A name has up to 64 letters, digits and the characters . _ - and starts with a letter or digit.',
          );
        const set = await withKey(secrets.set(id, body.value, signatureOf(actor)));
        if (set === 'too_many')
          throw conflict(`There are ${SECRETS_MAX} secrets already, which is the limit. Delete one first.`);
        return toWire(set, await secretUses());
      },
    }),
    adminEndpoint({
      method: 'DELETE',
      path: '/secrets/:id',
      subject,
      summary: 'Delete a sealed secret that no provider uses',
      async run({ id }) {
        const providers = (await secretUses()).get(id) ?? [];
        if (providers.length > 0)
          throw conflict(
            `This secret is used by: ${providers.join(', ')}. Give these providers another credential first.`,
          );
        if (!(await secrets.delete(id))) throw notFound('sealed secret', id);
      },
    }),
    adminEndpoint({
      method: 'POST',
      path: '/secrets/rotate',
      subject: { kind: 'secret' },
      summary: 'Seal all secrets with the first key of this node, one after another',
      response: rotation,
      run: () => withKey(secrets.rotate()),
    }),
  ];
}

function toWire(secret: SecretSummary, uses: Awaited<ReturnType<SecretUses>>): SealedSecretResponse {
  const { name, status, createdAt, changedAt, changedBy } = secret;
  return {
    name,
    status,
    providers: uses.get(name) ?? [],
    createdAt: createdAt.toISOString(),
    changedAt: changedAt.toISOString(),
    by: changedBy,
    byId: signerIdOf(changedBy),
  };
}

/** Awaits work that needs the key of this node. @throws GatewayError 409 if the node has no key */
async function withKey<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof SealingKeyError ? conflict(error.message) : error;
  }
}
