import { asObject } from '../common/json.ts'

/** For `JSON.stringify`: a message to the agent as its log has it, without what may be a secret of a tool server or of a person. */
export function withoutSecrets(key: string, value: unknown): unknown {
  if (key === 'mcpServers' && Array.isArray(value)) return value.map(hiddenServer)
  if (key === 'result' && asObject(value).action === 'accept') {
    const content = Object.keys(asObject(asObject(value).content)).map(name => [name, HIDDEN])
    return { ...asObject(value), content: Object.fromEntries(content) }
  }
  return value
}

/** The names of variables and headers, the number of arguments and the origin of an address are kept. */
function hiddenServer(value: unknown): unknown {
  const server = asObject(value)
  const { args, url } = server
  return {
    ...server,
    ...(Array.isArray(args) ? { args: args.map(() => HIDDEN) } : {}),
    ...(typeof url === 'string' ? { url: hiddenAddress(url) } : {}),
    ...hiddenPairs('env', server),
    ...hiddenPairs('headers', server),
  }
}

function hiddenPairs(key: 'env' | 'headers', { [key]: pairs }: Record<string, unknown>): object {
  return Array.isArray(pairs) ? { [key]: pairs.map(pair => ({ ...asObject(pair), value: HIDDEN })) } : {}
}

/** Keys are found in the user, the path and the query of an address. */
function hiddenAddress(url: string): string {
  if (!URL.canParse(url)) return HIDDEN
  const { protocol, host } = new URL(url)
  return `${protocol}//${host}/${HIDDEN}`
}

const HIDDEN = '…'
