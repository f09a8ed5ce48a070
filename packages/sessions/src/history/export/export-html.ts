import { createHash } from 'node:crypto'
import { PLAYER_SCRIPT, PLAYER_STYLE } from '../html/player.generated.ts'
import type { SessionContents } from './redacted-log.ts'

/**
 * One page that replays the session. It loads nothing, and runs nothing but the player: its policy names that by hash, and the
 * session is data in which no character can open or close a tag.
 */
export async function* exportHtml(contents: SessionContents): AsyncGenerator<string> {
  const policy = [
    "default-src 'none'",
    `script-src '${hash(PLAYER_SCRIPT)}'`,
    `style-src '${hash(PLAYER_STYLE)}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ]
  yield `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy.join('; ')}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>${escapeText(contents.session.title ?? 'Session')}</title>
<style>${PLAYER_STYLE}</style>
</head>
<body>
<noscript>This page replays a session, and needs JavaScript for that. It loads nothing from the network.</noscript>
<script type="application/json" id="session-data">`
  for await (const text of exportJson(contents)) yield escapeJson(text)
  yield `</script>
<script>${PLAYER_SCRIPT}</script>
</body>
</html>
`
}

function hash(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}

/** In JSON these stand only in texts, where an escape means the same. */
function escapeJson(json: string): string {
  return json.replace(/[<>&\u2028\u2029]/g, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

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
