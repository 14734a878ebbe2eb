import type { ModelConfig } from '../../config/schema.ts';
import { tokenLimit } from '../../providers/catalog/catalog.ts';

/**
 * Describes a model for Codex, which requests `/v1/models?client_version=` if the provider in Codex's own configuration has `auth`.
 * If one of these members is missing, Codex discards the whole list (openai/codex: `codex-rs/protocol/src/openai_models.rs`).
 */
export function codexEntry(id: string, model: ModelConfig): object {
  const contextTokensMax = tokenLimit(model.contextLength);
  return {
    slug: id,
    display_name: model.displayName ?? id,
    description: model.description ?? null,
    supported_reasoning_levels: [],
    shell_type: 'shell_command',
    visibility: 'list',
    supported_in_api: true,
    priority: 0,
    base_instructions: BASE_INSTRUCTIONS,
    supports_reasoning_summaries: false,
    support_verbosity: false,
    truncation_policy: { mode: 'bytes', limit: 10_000 },
    supports_parallel_tool_calls: true,
    experimental_supported_tools: [],
    ...(contextTokensMax !== null && { context_window: contextTokensMax }),
  };
}

/** Instructions for Codex, which has instructions of its own only for its vendor's models. */
const BASE_INSTRUCTIONS = `You are a coding agent in Codex CLI. You work in the user's workspace, together with the user.

- Read the code that a change concerns before you change it. Follow the conventions of the repository, and what AGENTS.md files say.
- Make the smallest change that solves the task at its cause. Leave what does not belong to it as it is.
- Search with "rg" and "rg --files" where they exist. Edit files with the tool for patches if you have one.
- Never discard changes that you did not make. Do not commit unless the user asks for it.
- For a task of several steps, say what you are about to do, keep the plan current, and go on until the task is done.
- Run the tests and checks that cover your change, and report failures as they are.
- If an action needs approval, say why it is needed.
- End with a short summary: what changed, in which files, how it was checked, and what is left.
`;
