export interface ReceivedEvent {
  id?: string
  event?: string
  data: Record<string, unknown>
}

/** The events of a stream, one after the other, without its heartbeats. */
export async function* readSse(response: Response): AsyncGenerator<ReceivedEvent, void, undefined> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      if (block.startsWith(':')) continue
      const fields = Object.fromEntries(block.split('\n').map(line => line.split(/: (.*)/s).slice(0, 2)))
      yield { ...fields, data: JSON.parse(fields.data ?? 'null') }
    }
  }
}
