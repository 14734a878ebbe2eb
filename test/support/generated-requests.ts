import type { ClientFormName } from '../../src/protocols/translation/pairs.ts';
import { dataUrl, formatOf, given, type Json, PNG, RequestWriter } from './generated-request-parts.ts';
import { HINTS, type Leaf, type Said } from './generated-said.ts';

export interface Built {
  readonly request: Readonly<Record<string, unknown>>;
  /** Reasoning of this provider: by signature, by data, and by the ids of the calls after it. */
  readonly issued: ReadonlyMap<string, string>;
}

/** Requests of each protocol of clients. */
export const requestsOf: Readonly<Record<ClientFormName, (said: Said) => Built>> = {
  messages(all) {
    const w = new RequestWriter(all);
    const leaf = (each: Leaf): Json => {
      if (each.kind === 'text' || each.kind === 'blank') {
        return w.odd('leaf', w.mark({ type: 'text', text: w.text(each) }));
      }
      const source =
        each.kind === 'link'
          ? { type: 'url', url: dataUrl('link') }
          : { type: 'base64', media_type: each.kind === 'pdf' ? 'application/pdf' : 'image/png', data: PNG };
      const title = each.kind === 'pdf' ? { title: w.text({ kind: 'text', around: '' }) } : {};
      return w.odd('leaf', w.mark({ type: each.kind === 'pdf' ? 'document' : 'image', source, ...title }));
    };
    const turn = (role: string, content: readonly Json[]): Json => w.odd('turn', { role, content });
    const messages = all.exchanges.flatMap((each, index) => {
      const calls = w.calls(each, index);
      const thought = each.reasoning === 'none' ? null : w.thought(each.reasoning, calls);
      const content = [
        ...(thought === null ? [] : [{ type: 'thinking', thinking: thought.text, signature: thought.opaque }]),
        ...each.texts.map(leaf),
        ...calls.map(({ id, name, input }) => w.odd('call', w.mark({ type: 'tool_use', id, name, input }))),
      ];
      const results = calls.flatMap(({ id, result, isError }) =>
        result === null
          ? []
          : [
              w.odd(
                'result',
                w.mark({ type: 'tool_result', tool_use_id: id, content: result.map(leaf), is_error: isError }),
              ),
            ],
      );
      return [
        turn('user', each.user.map(leaf)),
        turn('assistant', content),
        ...(results.length === 0 ? [] : [turn('user', results)]),
        ...(each.later.length === 0 ? [] : [turn('system', each.later.map(leaf))]),
      ];
    });
    const { settings, choice, toolNames, parallel, schema, isStrict } = all;
    const type = { absent: null, auto: 'auto', none: 'none', required: 'any', forced: 'tool' }[choice];
    const request = w.odd('top', {
      model: 'm',
      max_tokens: settings.limit ?? 500,
      ...given({
        stream: settings.isStream,
        system: all.system.length === 0 ? null : all.system.map(leaf),
        temperature: settings.temperature === null ? null : Math.min(settings.temperature, 1),
        top_p: settings.topP,
        stop_sequences: settings.stop.length === 0 ? null : settings.stop,
        thinking: settings.budget === null ? null : { type: 'enabled', budget_tokens: settings.budget },
        output_config: given({
          effort: settings.effort,
          format: settings.format === 'schema' ? { type: 'json_schema', schema: { type: 'object' } } : null,
        }),
        tool_choice:
          type === null
            ? null
            : given({
                type,
                name: type === 'tool' ? (toolNames[0] ?? 'gone') : null,
                disable_parallel_tool_use: parallel === null ? null : !parallel,
              }),
      }),
      ...w.hints(['top_k', 'metadata']),
      tools: toolNames.map((name) =>
        w.odd(
          'tool',
          given({ name, description: w.text({ kind: 'text', around: '' }), input_schema: schema, strict: isStrict }),
        ),
      ),
      messages: [...messages, ...(all.last.length === 0 ? [] : [turn('user', all.last.map(leaf))])],
    });
    return { request, issued: w.issued };
  },
  chat(all) {
    const w = new RequestWriter(all);
    const leaf = (each: Leaf): Json => {
      if (each.kind === 'text' || each.kind === 'blank') {
        return w.odd('leaf', w.mark({ type: 'text', text: w.text(each) }));
      }
      const media_ =
        each.kind === 'pdf'
          ? { type: 'file', file: { filename: w.text({ kind: 'text', around: '' }), file_data: dataUrl('pdf') } }
          : { type: 'image_url', image_url: { url: dataUrl(each.kind), detail: 'low' } };
      return w.odd('leaf', w.mark(media_));
    };
    const content = (list: readonly Leaf[]): unknown =>
      list.length === 1 && list[0]!.kind === 'text' ? w.text(list[0]!) : list.map(leaf);
    const messages = all.exchanges.flatMap((each, index) => {
      const calls = w.calls(each, index);
      const thought = each.reasoning === 'none' ? null : w.thought(each.reasoning, calls);
      const details = [{ type: 'reasoning.encrypted', format: 'faregate-carrier-v1', data: thought?.opaque, index: 0 }];
      const isOwn = each.reasoning !== 'foreign';
      return [
        w.odd('turn', { role: 'user', content: content(each.user) }),
        w.odd('turn', {
          role: 'assistant',
          content: each.texts.length === 0 ? null : content(each.texts),
          ...(thought !== null && {
            reasoning_content: thought.text,
            ...(isOwn && { reasoning_details: details }),
          }),
          ...(calls.length > 0 && {
            tool_calls: calls.map((one) =>
              w.odd(
                'call',
                all.isCustom
                  ? { id: one.id, type: 'custom', custom: { name: one.name, input: w.argumentsOf(one) } }
                  : { id: one.id, type: 'function', function: { name: one.name, arguments: w.argumentsOf(one) } },
              ),
            ),
          }),
        }),
        ...calls.flatMap(({ id, result }) =>
          result === null
            ? []
            : [w.odd('result', w.mark({ role: 'tool', tool_call_id: id, content: content(result) }))],
        ),
        ...(each.later.length === 0 ? [] : [w.odd('turn', { role: 'system', content: content(each.later) })]),
      ];
    });
    const { settings, choice, toolNames, parallel, schema, isStrict, isCustom } = all;
    const type = isCustom ? 'custom' : 'function';
    const named = { name: toolNames[0] ?? 'gone' };
    const request = w.odd('top', {
      model: 'm',
      ...given({
        stream: settings.isStream,
        max_tokens: settings.limit,
        temperature: settings.temperature,
        top_p: settings.topP,
        stop: settings.stop.length === 0 ? null : settings.stop,
        reasoning_effort: settings.effort,
        parallel_tool_calls: parallel,
        tool_choice: choice === 'absent' ? null : choice === 'forced' ? { type, [type]: named } : choice,
        response_format: formatOf(settings, (name, rest) => ({ type: 'json_schema', json_schema: { name, ...rest } })),
      }),
      ...w.hints(HINTS),
      tools: toolNames.map((name) => {
        const description = w.text({ kind: 'text', around: '' });
        return w.odd('tool', {
          type,
          [type]: given({ name, description, ...(isCustom ? {} : { parameters: schema, strict: isStrict }) }),
        });
      }),
      messages: [
        ...(all.system.length === 0 ? [] : [{ role: 'system', content: content(all.system) }]),
        ...messages,
        ...(all.last.length === 0 ? [] : [w.odd('turn', { role: 'user', content: content(all.last) })]),
      ],
    });
    return { request, issued: w.issued };
  },
  responses(all) {
    const w = new RequestWriter(all);
    const part =
      (type: string) =>
      (each: Leaf): Json => {
        if (each.kind === 'text' || each.kind === 'blank') return w.odd('leaf', { type, text: w.text(each) });
        return w.odd(
          'leaf',
          each.kind === 'pdf'
            ? { type: 'input_file', filename: w.text({ kind: 'text', around: '' }), file_data: dataUrl('pdf') }
            : { type: 'input_image', image_url: dataUrl(each.kind), detail: 'auto' },
        );
      };
    const { settings, choice, toolNames, parallel, schema, isStrict, isCustom } = all;
    const message = (role: string, list: readonly Leaf[]): Json =>
      w.odd('turn', {
        type: 'message',
        role,
        content: list.map(part(role === 'assistant' ? 'output_text' : 'input_text')),
      });
    const input = all.exchanges.flatMap((each, index) => {
      const calls = w.calls(each, index);
      const thought = each.reasoning === 'none' ? null : w.thought(each.reasoning, calls);
      const summary = thought?.text === '' ? [] : [{ type: 'summary_text', text: thought?.text }];
      return [
        message('user', each.user),
        ...(thought === null ? [] : [{ type: 'reasoning', id: 'rs_1', summary, encrypted_content: thought.opaque }]),
        ...(each.texts.length === 0 ? [] : [message('assistant', each.texts)]),
        ...calls.map((one) =>
          w.odd(
            'call',
            isCustom
              ? { type: 'custom_tool_call', call_id: one.id, name: one.name, input: w.argumentsOf(one) }
              : { type: 'function_call', call_id: one.id, name: one.name, arguments: w.argumentsOf(one) },
          ),
        ),
        ...calls.flatMap(({ id, result }) =>
          result === null
            ? []
            : [
                w.odd('result', {
                  type: isCustom ? 'custom_tool_call_output' : 'function_call_output',
                  call_id: id,
                  output: result.map(part('input_text')),
                }),
              ],
        ),
        ...(each.later.length === 0 ? [] : [message('developer', each.later)]),
      ];
    });
    const type = isCustom ? 'custom' : 'function';
    const request = w.odd('top', {
      model: 'm',
      ...given({
        stream: settings.isStream,
        instructions: all.system.length === 0 ? null : w.text(all.system[0]!),
        max_output_tokens: settings.limit,
        temperature: settings.temperature,
        top_p: settings.topP,
        reasoning: settings.effort === null ? null : { effort: settings.effort, summary: 'auto' },
        parallel_tool_calls: parallel,
        tool_choice: choice === 'absent' ? null : choice === 'forced' ? { type, name: toolNames[0] ?? 'gone' } : choice,
        text: given({ format: formatOf(settings, (name, rest) => ({ type: 'json_schema', name, ...rest })) }),
      }),
      ...w.hints(HINTS),
      tools: toolNames.map((name) => {
        const description = w.text({ kind: 'text', around: '' });
        return w.odd(
          'tool',
          given({ type, name, description, ...(isCustom ? {} : { parameters: schema, strict: isStrict }) }),
        );
      }),
      input: [...input, ...(all.last.length === 0 ? [] : [message('user', all.last)])],
    });
    return { request, issued: w.issued };
  },
};
