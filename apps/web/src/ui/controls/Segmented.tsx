import { RadioGroup } from 'radix-ui'
import { Icon, type IconName } from '../marks/Icon.tsx'
import './button.css'

export interface Segment<T extends string> {
  value: T
  label: string
  icon?: IconName
}

/** Two to four views of the same thing, all in sight. */
export function Segmented<T extends string>(props: {
  label: string
  value: T
  segments: readonly Segment<T>[]
  onChange(value: T): void
}) {
  const { label, value, segments, onChange } = props
  return (
    <RadioGroup.Root
      className="segmented"
      orientation="horizontal"
      aria-label={label}
      value={value}
      onValueChange={next => {
        const segment = segments.find(one => one.value === next)
        if (segment) onChange(segment.value)
      }}
    >
      {segments.map(segment => (
        <RadioGroup.Item key={segment.value} value={segment.value}>
          {segment.icon ? <Icon name={segment.icon} size={13} /> : null}
          {segment.label}
        </RadioGroup.Item>
      ))}
    </RadioGroup.Root>
  )
}
