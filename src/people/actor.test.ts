import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { signatureOf, signerIdOf, type UserActor, unsigned } from './actor.ts';

const [ADA, EVE] = ['usr_01m870644265cgyg5wqzseq9va', 'usr_01m870644265cgyg5wqzseq9ve'];

function user(id: string, name: string): UserActor {
  return { kind: 'user', id, name, sessionId: 'ses_1', operatorRole: null, memberships: [], authenticatedAtMs: null };
}

describe('a signature', () => {
  it('contains the name and id of the signer, whatever the name', () => {
    assert.equal(signatureOf(user(ADA, 'Ada (Finance)')), `Ada (Finance) (${ADA})`);
    for (const name of ['Ada', `Ada (${ADA})`, `Ada ((${ADA})`, `Ada (USR_${ADA.slice(4)})`, `(${ADA}) (${ADA})`]) {
      const signature = signatureOf(user(EVE, name));
      assert.equal(signerIdOf(signature), EVE);
      assert.ok(!signature.includes(`(${ADA}`), signature);
    }
  });

  it('names no signer if the name imitates one, or no id is known', () => {
    assert.equal(signerIdOf(unsigned(`Ada (${ADA})`)), null);
    assert.equal(signerIdOf(signatureOf({ kind: 'command_line' })), null);
    assert.equal(signerIdOf(`Ada (${ADA}) and others`), null);
  });
});
