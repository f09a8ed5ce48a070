import { expectTypeOf, test } from 'vitest'
import type { ClaudeApiStreamEvent, ClaudeContentBlock, ClaudeDelta } from './claude/message-events.ts'
import type { CodexItem } from './codex/exec-events.ts'

// Code of a reader that shows native events. It fails in `tsc`, not at run time.

test('the blocks of a message narrow by their type', () => {
  const show = (block: ClaudeContentBlock): string => {
    switch (block.type) {
      case 'text':
        expectTypeOf(block.text).toEqualTypeOf<string | undefined>()
        return block.text ?? ''
      case 'thinking':
        expectTypeOf(block.thinking).toEqualTypeOf<string | undefined>()
        return block.thinking ?? ''
      case 'tool_use':
        expectTypeOf(block.input).toEqualTypeOf<Record<string, unknown> | undefined>()
        return block.name ?? ''
      case 'tool_result':
        expectTypeOf(block.is_error).toEqualTypeOf<boolean | undefined>()
        return block.tool_use_id ?? ''
      default:
        return block.type
    }
  }
  expectTypeOf(show).returns.toEqualTypeOf<string>()
})

test('the events of a stream and their deltas narrow', () => {
  const piece = (delta: ClaudeDelta): string => {
    if (delta.type === 'text_delta') return delta.text ?? ''
    return delta.type === 'input_json_delta' ? (delta.partial_json ?? '') : delta.type
  }
  const show = (event: ClaudeApiStreamEvent): string => {
    switch (event.type) {
      case 'content_block_delta':
        return event.delta ? piece(event.delta) : ''
      case 'content_block_start':
        expectTypeOf(event.content_block).toEqualTypeOf<ClaudeContentBlock | undefined>()
        return String(event.index ?? 0)
      case 'message_delta':
        return event.delta?.stop_reason ?? ''
      default:
        return event.type
    }
  }
  expectTypeOf(show).returns.toEqualTypeOf<string>()
})

test('the items of Codex narrow', () => {
  const show = (item: CodexItem): string => {
    switch (item.type) {
      case 'command_execution':
        expectTypeOf(item.exit_code).toEqualTypeOf<number | null | undefined>()
        return item.command ?? ''
      case 'agent_message':
      case 'reasoning':
        return item.text ?? ''
      case 'file_change':
        return item.changes?.[0]?.path ?? ''
      case 'mcp_tool_call':
        return item.error?.message ?? item.tool ?? ''
      default:
        return item.type ?? ''
    }
  }
  expectTypeOf(show).returns.toEqualTypeOf<string>()
})
