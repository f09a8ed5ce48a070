import type { CallOutputs, ServerFile } from '@chirality/server'
import { askProcedure } from '../../running-server.ts'
import type { EditorUpdate } from './editor-updates.ts'

/** The images of a turn's message, as an editor shows them. */
export async function imagesOf(
  { server, id: sessionId }: { server: ServerFile; id: string },
  turnId: string,
): Promise<EditorUpdate[]> {
  const asked = { sessionId, turnId }
  const images = await askProcedure<CallOutputs['sessions']['images']>(
    server,
    'sessions.images',
    asked,
    // Those that are not kept any more must not keep the rest of the conversation away.
  ).catch(() => [])
  return images.map(({ data, mediaType }) => ({
    sessionUpdate: 'user_message_chunk',
    content: { type: 'image', data, mimeType: mediaType },
  }))
}
