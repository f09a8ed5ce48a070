import { asArray, asNumber, asObject, asStrings, asText, type JsonObject } from '../../../native/loose.ts'
import { present } from '../../claude/ui.ts'
import { snakeCase } from '../snake-case.ts'
import { flattenParts } from './content.ts'
import { argumentsOf, hasFailed, statusOf, type ToolFacts, WEB_SEARCH } from './tool-facts.ts'

/** A tool that the host offers without MCP. */
export function readHostCall(item: JsonObject): ToolFacts {
  return {
    name: qualified(item.namespace, item.tool),
    input: argumentsOf(item),
    content: flattenParts(item.contentItems),
    isError: item.success === false || hasFailed(statusOf(item)),
  }
}

export function readCollaboration(item: JsonObject): ToolFacts {
  const states = Object.entries(asObject(item.agents_states ?? item.agentsStates) ?? {})
  const agents = states.map(([threadId, value]) => {
    const state = asObject(value)
    return present({
      threadId,
      status: snakeCase(asText(state?.status) ?? 'unknown'),
      message: asText(state?.message),
    })
  })
  const threadIds = asStrings(item.receiver_thread_ids ?? item.receiverThreadIds)
  return {
    name: snakeCase(asText(item.tool) ?? 'agent'),
    input: present({ prompt: asText(item.prompt), threadIds: threadIds.length > 0 ? threadIds : undefined }),
    content: agents.map(agent => `${agent.threadId}: ${agent.message ?? agent.status}`).join('\n'),
    isError: hasFailed(statusOf(item)),
    detail: { agents },
  }
}

export function readWebSearch(item: JsonObject): ToolFacts {
  const action = asObject(item.action)
  const type = action && snakeCase(asText(action.type) ?? 'other')
  const queries = asStrings(action?.queries)
  const url = asText(action?.url)
  const query = asText(item.query) ?? asText(action?.query)
  return {
    name: WEB_SEARCH,
    input: present({
      query: query ?? '',
      action: type,
      queries: queries.length > 0 ? queries : undefined,
      url,
    }),
    content: url ?? (queries.length > 0 ? queries.join('\n') : (query ?? '')),
    isError: false,
    detail: Array.isArray(item.results) ? { results: asArray(item.results) } : undefined,
  }
}

/** The picture itself, in base64, stays in the spool. */
export function readImageGeneration(item: JsonObject): ToolFacts {
  const savedPath = asText(item.savedPath)
  const failure = asText(asObject(item.failure)?.type)
  return {
    name: 'image_generation',
    input: present({ prompt: asText(item.revisedPrompt) }),
    content: failure ?? savedPath ?? '[image]',
    isError: failure !== undefined || hasFailed(statusOf(item)),
    detail: savedPath ? { savedPath } : undefined,
  }
}

export function readFunctionOutput(item: JsonObject): ToolFacts {
  const name = qualified(item.namespace, item.name)
  return { name, input: {}, content: flattenParts(item.output), isError: false }
}

export function readImageView(item: JsonObject): ToolFacts {
  const input = present({ path: asText(item.path) })
  return { name: 'view_image', input, content: '[image]', isError: false }
}

export function readSleep(item: JsonObject): ToolFacts {
  const input = present({ durationMs: asNumber(item.durationMs) })
  return { name: 'sleep', input, content: '', isError: false }
}

function qualified(namespace: unknown, tool: unknown): string {
  const name = asText(tool) ?? 'tool'
  const prefix = asText(namespace)
  return prefix ? `${prefix}__${name}` : name
}
