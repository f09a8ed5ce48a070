import { asArray, asObject, asText, isObject } from '../../../native/loose.ts'

/** Text of what an MCP or host tool returned: parts joined by newlines, what is no text named in brackets. */
export function flattenParts(content: unknown): string {
  if (typeof content === 'string') return content
  return asArray(content).map(flattenPart).join('\n')
}

function flattenPart(value: unknown): string {
  if (typeof value === 'string') return value
  const part = asObject(value) ?? {}
  if (typeof part.text === 'string') return part.text
  const resource = isObject(part.resource) ? part.resource : part
  if (typeof resource.text === 'string') return resource.text
  const type = asText(part.type) ?? 'content'
  const what = asText(resource.mimeType) ?? asText(resource.uri) ?? asText(resource.name)
  return `[${[type, what].filter(Boolean).join(' ')}]`
}
