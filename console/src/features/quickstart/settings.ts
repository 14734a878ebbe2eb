import { AGENTS } from './agents.ts';
import { APPS } from './apps.ts';
import { PROGRAMS } from './programs.ts';
import type { Client } from './wanted.ts';

/** The clients that there are settings for, in the order of the list. */
export const CLIENTS: readonly Client[] = [...PROGRAMS, ...AGENTS, ...APPS];
