import type { LocalServer } from '../../running-server.ts'
import type { EditorUpdate } from './editor-updates.ts'

/** The images of a turn's message, as an editor shows them. */
export async function imagesOf(
  { server, id: sessionId }: { server: LocalServer; id: string },
  turnId: string,
): Promise<EditorUpdate[]> {
  // Images that are not kept any more must not keep the rest of the conversation away.
  const images = await server.calls.sessions.images.query({ sessionId, turnId }).catch(() => [])
  return images.map(({ data, mediaType }) => ({
    sessionUpdate: 'user_message_chunk',
    content: { type: 'image', data, mimeType: mediaType },
  }))
}
