/** Removes whatever names a provider, or reveals a credential, from the provider's messages. */

/** A shorter secret could be a part of any word. */
export const SECRET_LENGTH_MIN = 4;

const MESSAGE_CHARS_MAX = 4_000;
const URL_PATTERN = /\b(?:https?|wss?):\/\/[^\s"'<>)\]}\\]+/gi;
const KEY_PATTERN = /\b(?:sk|pk|rk|key)-[A-Za-z0-9_*-]{8,}/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: removing control characters is the purpose
const CONTROL_PATTERN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

/**
 * Removes whatever names the provider or reveals a credential. Hosts have no case, so the case of secrets is ignored.
 * JSON stays JSON.
 */
export function removeSecrets(text: string, secrets: readonly string[]): string {
  let scrubbed = text.replace(CONTROL_PATTERN, '').replace(URL_PATTERN, '[address]').replace(KEY_PATTERN, '[key]');
  for (const secret of secrets) {
    if (secret.length < SECRET_LENGTH_MIN) continue;
    scrubbed = scrubbed.replace(new RegExp(escapePattern(secret), 'gi'), '[provider]');
  }
  return scrubbed;
}

/** As `removeSecrets`, for a message: bounded in length. */
export function scrub(text: string, secrets: readonly string[]): string {
  const scrubbed = removeSecrets(text, secrets);
  return scrubbed.length > MESSAGE_CHARS_MAX ? `${scrubbed.slice(0, MESSAGE_CHARS_MAX)}…` : scrubbed;
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
