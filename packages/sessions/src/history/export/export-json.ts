import type { SessionContents } from './session-contents.ts'

/** `{ session, envelopes }`, an envelope a line. It can be imported again. */
export async function* exportJson({ session, batches }: SessionContents): AsyncGenerator<string> {
  yield `{"session":${JSON.stringify(session)},"envelopes":[`
  let separator = '\n'
  for await (const batch of batches) {
    if (batch.length === 0) continue
    yield separator + batch.map(envelope => JSON.stringify(envelope)).join(',\n')
    separator = ',\n'
  }
  yield '\n]}\n'
}
