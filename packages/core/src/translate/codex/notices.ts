import type { PlanWindow, StatusEvent, UIEvent } from '../../events/ui-event.ts'
import type { CodexNotificationMethod, CodexSilentNotification } from '../../native/codex/notifications.ts'
import { asArray, asNumber, asObject, asText, type JsonObject } from '../../native/loose.ts'
import { headline, isoTime, limitsIfNew, present, status } from '../shared.ts'
import type { CodexState } from './state.ts'
import { codexNotice, snakeCase, warning } from './ui.ts'

export function translateNotice(state: CodexState, method: NoticeMethod, params: JsonObject): UIEvent[] {
  switch (method) {
    case 'warning':
    case 'guardianWarning':
      return warning(state, asText(params.message) ?? '')
    case 'configWarning':
      return warning(state, summaryOf(params))
    case 'deprecationNotice':
      return warning(state, summaryOf(params), 'info')
    case 'windows/worldWritableWarning':
      return warning(state, 'Some folders can be written by every user of this computer')
    case 'mcpServer/startupStatus/updated':
      return translateMcpStatus(state, params)
    case 'hook/completed':
      return translateHook(state, asObject(params.run) ?? {})
    case 'item/autoApprovalReview/completed':
      return translateReview(state, params)
    case 'thread/name/updated': {
      const title = asText(params.threadName)
      return codexNotice(state, 'title', { message: title ? `Title: ${title}` : '', data: { title } })
    }
    case 'thread/goal/updated': {
      const goal = asObject(params.goal)
      const objective = asText(goal?.objective)
      return codexNotice(state, 'goal', { message: objective ? `Goal: ${objective}` : '', data: { ...goal } })
    }
    case 'thread/reverted':
      return codexNotice(state, 'reverted', {
        message: 'The conversation was taken back to an earlier point',
      })
    case 'modelProvider/authRecoveryStarted':
    case 'modelProvider/authRecoveryCompleted':
      return codexNotice(state, 'auth', { message: asText(params.message) ?? 'Logging in again' })
    case 'model/verification':
      return codexNotice(state, 'verification', { message: 'The model asks for this account to be verified' })
    case 'model/safetyBuffering/updated':
      return params.showBufferingUi === true
        ? codexNotice(state, 'safety', { message: 'The answer is held back while it is checked' })
        : []
    default:
      return silence(method)
  }
}

type NoticeMethod =
  | CodexSilentNotification['method']
  | Extract<
      CodexNotificationMethod,
      | 'configWarning'
      | 'deprecationNotice'
      | 'guardianWarning'
      | 'hook/completed'
      | 'item/autoApprovalReview/completed'
      | 'mcpServer/startupStatus/updated'
      | 'model/safetyBuffering/updated'
      | 'model/verification'
      | 'modelProvider/authRecoveryCompleted'
      | 'modelProvider/authRecoveryStarted'
      | 'thread/goal/updated'
      | 'thread/name/updated'
      | 'thread/reverted'
      | 'warning'
      | 'windows/worldWritableWarning'
    >

/** A visible method that is missing above does not compile here. */
function silence(_method: CodexSilentNotification['method']): UIEvent[] {
  return []
}

function summaryOf(params: JsonObject): string {
  const details = asText(params.details)
  return `${asText(params.summary) ?? ''}${details ? ` (${details})` : ''}`
}

/** `exec` reports a server that does not start only on stderr. */
function translateMcpStatus(state: CodexState, params: JsonObject): UIEvent[] {
  const name = asText(params.name)
  const serverStatus = asText(params.status)
  if (!name || !serverStatus) return []
  state.mcpServers.set(name, serverStatus)
  if (serverStatus !== 'failed') return []
  const error = asText(params.error)
  const message = error ?? `The MCP server ${name} did not start`
  return codexNotice(state, 'mcp_server', { message, level: 'warn', data: { name, status: serverStatus } })
}

/** A hook that succeeds and prints nothing is not shown. */
function translateHook(state: CodexState, run: JsonObject): UIEvent[] {
  const outcome = asText(run.status)
  const hook = asText(run.eventName) ?? 'hook'
  const printed = asArray(run.entries).map(entry => asText(asObject(entry)?.text) ?? '')
  const output = [asText(run.statusMessage) ?? '', ...printed].filter(line => line !== '').join('\n')
  const failed = outcome !== undefined && outcome !== 'completed'
  if (!failed && output === '') return []
  const how = failed ? ` ${outcome}` : ''
  return [
    status(state, 'hook', {
      message: `Hook ${hook}${how}${output ? `: ${headline(output)}` : ''}`,
      level: failed ? 'warn' : 'info',
      data: { hook, hookEvent: asText(run.eventName), outcome, output },
    }),
  ]
}

/** A model decided in place of a person. An approval shows in the agent's next action. */
function translateReview(state: CodexState, params: JsonObject): UIEvent[] {
  const review = asObject(params.review)
  if (review?.status !== 'denied' && review?.status !== 'timedOut') return []
  const call = state.tools.get(asText(params.targetItemId) ?? '')
  const why = asText(review.rationale)
  const toolName = call?.name ?? asText(asObject(params.action)?.type) ?? 'A tool'
  return [
    status(state, 'permission_denied', {
      message: `${toolName} was not allowed to run${why ? `: ${headline(why)}` : ''}`,
      level: 'warn',
      toolUseId: call?.id,
      data: { toolName, reasonType: 'review', detail: why, input: call?.input },
    }),
  ]
}

const NEARLY_PERCENT = 90

/** Sent with every answer; a notice only when a limit is near, reached, or far again. */
export function translateRateLimits(state: CodexState, params: JsonObject): UIEvent[] {
  const limits = asObject(params.rateLimits)
  const windows = [limits?.primary, limits?.secondary].flatMap(value => readWindow(asObject(value)) ?? [])
  const news = limitsIfNew(state, windows)
  const reached = asText(limits?.rateLimitReachedType)
  if (!limits || (windows.length === 0 && !reached)) return news
  const fullest = [...windows].sort((a, b) => b.usedPercent - a.usedPercent)[0]
  const used = fullest?.usedPercent ?? 100
  const level = reached || used >= 100 ? 'error' : used >= NEARLY_PERCENT ? 'warn' : 'info'
  if (level === state.rateLevel) return news
  state.rateLevel = level
  return [
    ...news,
    status(state, 'rate_limited', { message: describe(level, fullest), level, data: { ...limits } }),
  ]
}

type CodexWindow = PlanWindow & { usedPercent: number }

function readWindow(value: JsonObject | undefined): CodexWindow | undefined {
  const usedPercent = asNumber(value?.usedPercent)
  if (usedPercent === undefined) return undefined
  const minutes = asNumber(value?.windowDurationMins)
  const resetsAt = isoTime(value?.resetsAt)
  return present({ name: windowName(minutes), minutes, usedPercent, resetsAt })
}

function windowName(minutes: number | undefined): string {
  if (minutes === undefined) return 'usage'
  if (minutes === 7 * 24 * 60) return 'week'
  return minutes % 60 === 0 ? `${minutes / 60} hours` : `${minutes} minutes`
}

function describe(level: StatusEvent['level'], window: PlanWindow | undefined): string {
  const hours = window?.minutes && Math.round(window.minutes / 60)
  const limit = hours ? `${hours} h usage limit` : 'usage limit'
  const until = window?.resetsAt ? `, resets at ${window.resetsAt}` : ''
  if (level === 'error') return `The ${limit} is reached${until}`
  if (level === 'info') return `Below the ${limit} again`
  return `${Math.round(window?.usedPercent ?? NEARLY_PERCENT)} % of the ${limit} used${until}`
}

/** Another model takes over. app-server has a notification for it, `exec` an error item with these words. */
const REROUTED = /^model rerouted: (\S+) -> (\S+)(?: \((\w+)\))?$/

/** Undefined if the error item is about something else. */
export function translateReroute(state: CodexState, item: JsonObject): UIEvent[] | undefined {
  const [, fromModel, toModel, reason] = REROUTED.exec(asText(item.message) ?? '') ?? []
  return fromModel === undefined ? undefined : reportReroute(state, { fromModel, toModel, reason })
}

export function reportReroute(state: CodexState, params: JsonObject): UIEvent[] {
  const from = asText(params.fromModel)
  const to = asText(params.toModel)
  const reason = asText(params.reason)
  return [
    status(state, 'model_fallback', {
      message: `Switched from ${from ?? 'the model'} to ${to ?? 'another one'}`,
      level: 'warn',
      data: {
        trigger: reason && snakeCase(reason).replace(/^_/, ''),
        originalModel: from,
        fallbackModel: to,
      },
    }),
  ]
}
