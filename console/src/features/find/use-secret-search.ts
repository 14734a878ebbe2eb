import { useEffect, useState } from 'react';
import { ApiError, ask, type BodyOf, type InputOf, type ResponseOf } from '../../api/client.ts';

/** Endpoints that take a secret in the request body. */
type SecretSearch = 'POST /admin/v1/keys/search' | 'POST /admin/v1/vouchers/search';

interface Found<Response> {
  /** `null` while the search is pending, or if nothing was found. */
  readonly found: Response | null;
  readonly isPending: boolean;
  readonly error: Error | null;
}

/** Searches by a secret. The query cache is not used, so that the page does not keep the secret. */
export function useSecretSearch<Name extends SecretSearch>(name: Name, body: BodyOf<Name>): Found<ResponseOf<Name>> {
  const text = JSON.stringify(body);
  const [search, setSearch] = useState<Found<ResponseOf<Name>>>({ found: null, isPending: true, error: null });
  useEffect(() => {
    const left = new AbortController();
    setSearch({ found: null, isPending: true, error: null });
    ask(name, { body: JSON.parse(text) as BodyOf<Name> } as unknown as InputOf<Name>, { signal: left.signal }).then(
      (found) => setSearch({ found, isPending: false, error: null }),
      (error: Error) => {
        if (left.signal.aborted) return;
        const isUnknown = error instanceof ApiError && error.status === 404;
        setSearch({ found: null, isPending: false, error: isUnknown ? null : error });
      },
    );
    return () => left.abort();
  }, [name, text]);
  return search;
}
