import { useQuery } from '@tanstack/react-query';

const USUAL = 'altproto';
const CODING_MESSAGES = /^\/([^/]+)\/coding\/v1\/messages$/;

/** The first path segment of the Coding Plan's messages endpoints. It is configurable, so it is read from the API description. */
export function useMessagesName(): string {
  const found = useQuery({
    queryKey: ['messages name'],
    queryFn: async () => {
      const { paths } = (await (await fetch('/openapi.json')).json()) as { paths: Record<string, unknown> };
      return Object.keys(paths).flatMap((path) => CODING_MESSAGES.exec(path)?.[1] ?? [])[0] ?? USUAL;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  return found.data ?? USUAL;
}
