import { useQuery } from '@tanstack/react-query';

const USUAL = 'altproto';
const CODING_MESSAGES = /^\/([^/]+)\/coding\/v1\/messages$/;

/** The first part of the messages addresses of the Coding Plan, which is configured; the description of all addresses has it. */
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
