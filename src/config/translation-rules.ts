import { findOperation } from '../protocols/operations/all.ts';
import { providerFormOf } from '../protocols/translation/pairs.ts';
import type { Path } from './document.ts';

/** A model and its providers, as far as they were readable. */
interface ModelFacts {
  readonly id: string;
  readonly operations: readonly string[];
  readonly hasOutputLimit: boolean;
  readonly routes: readonly RouteFacts[];
}

interface RouteFacts {
  /** Protocol of the provider, and the operations that it serves; `null`: all of its protocol. */
  readonly protocol: string;
  readonly serves: readonly string[] | null;
  readonly translate: readonly string[];
}

interface Breach {
  readonly path: Path;
  readonly message: string;
}

/** Checks that routes take all operations of their model, and that what they translate can be translated. */
export function translationBreaches({ id, operations, hasOutputLimit, routes }: ModelFacts): Breach[] {
  const serves = ({ protocol, serves: listed }: RouteFacts, operation: string): boolean =>
    findOperation(operation)?.protocol.name === protocol && (listed === null || listed.includes(operation));
  const translatedFor = (route: RouteFacts, operation: string): string | null =>
    route.translate.includes(operation) ? providerFormOf(operation, route.protocol) : null;
  const ofRoutes = routes.flatMap((route, index) =>
    route.translate.flatMap((operation, place): Breach[] => {
      const path: Path = ['models', id, 'routes', index, 'translate', place];
      const form = providerFormOf(operation, route.protocol);
      if (form === null) {
        return [
          {
            path,
            message: `Requests of "${operation}" cannot be translated for a provider of the protocol "${route.protocol}".`,
          },
        ];
      }
      if (!operations.includes(operation)) {
        return [{ path, message: `Add "${operation}" to the operations of the model.` }];
      }
      if (form === 'messages' && !hasOutputLimit) {
        return [
          {
            path,
            message: 'The model needs "maxOutputTokens", because the messages protocol requires an output limit.',
          },
        ];
      }
      return [];
    }),
  );
  if (ofRoutes.length > 0 || !routes.some(({ serves: listed, translate }) => listed !== null || translate.length > 0)) {
    return ofRoutes;
  }
  return operations.flatMap((operation, index): Breach[] => {
    if (routes.some((route) => serves(route, operation) || translatedFor(route, operation) !== null)) return [];
    const path: Path = ['models', id, 'operations', index];
    return [{ path, message: `No route of the model serves "${operation}", and none translates it.` }];
  });
}
