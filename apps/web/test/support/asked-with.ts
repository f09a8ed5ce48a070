import type { ScriptedModel } from '@chirality/scripted-model'

/** The conversation that the model got last with these words in it. The very last request may only count tokens. */
export function askedWith(model: Pick<ScriptedModel, 'requests'> | undefined, words: string): string {
  const bodies = (model?.requests ?? []).map(({ body }) => JSON.stringify(body))
  return bodies.findLast(body => body.includes(words)) ?? ''
}
