import { type ReactNode, useState } from 'react'
import { Button, type ButtonProps } from '../ui/controls/Button.tsx'
import { CopyButton } from '../ui/controls/CopyButton.tsx'
import { Field } from '../ui/controls/Field.tsx'
import { CheckField, Form, TextField } from '../ui/controls/Form.tsx'
import { IconButton } from '../ui/controls/IconButton.tsx'
import { LongMenu } from '../ui/controls/LongMenu.tsx'
import { Menu } from '../ui/controls/Menu.tsx'
import { Picker } from '../ui/controls/Picker.tsx'
import { Segmented } from '../ui/controls/Segmented.tsx'
import { SelectField } from '../ui/controls/SelectField.tsx'
import { Splitter } from '../ui/controls/Splitter.tsx'
import { Cost } from '../ui/marks/Cost.tsx'
import { Brand, Dot, type DotTone } from '../ui/marks/Dot.tsx'
import { Empty, Skeleton, Words } from '../ui/marks/Empty.tsx'
import { ICON_NAMES, Icon } from '../ui/marks/Icon.tsx'
import { Kbd } from '../ui/marks/Kbd.tsx'
import { Meter } from '../ui/marks/Meter.tsx'
import { Dialog } from '../ui/overlay/Dialog.tsx'
import { toasts } from '../ui/overlay/toast-store.ts'
import './components-page.css'

const LOOKS: readonly NonNullable<ButtonProps['look']>[] = ['plain', 'primary', 'quiet', 'danger']
const TONES: readonly DotTone[] = ['quiet', 'work', 'need', 'ok', 'seen', 'bad']
const SURFACES = ['canvas', 'sheet', 'card', 'pop', 'sunken', 'fill', 'need-bg', 'agent-bg'] as const
const OPTIONS = [
  { value: 'ask', label: 'Ask before changes', detail: 'Reads freely, asks for the rest.' },
  { value: 'edit', label: 'Edit freely', detail: 'Asks before it runs commands.' },
  { value: 'gone', label: 'Not to be had', disabled: true },
] as const

/** Every piece of `src/ui` in every state. In development builds only. */
export default function ComponentsPage() {
  const [segment, setSegment] = useState('a')
  const [option, setOption] = useState<string>('ask')
  const [width, setWidth] = useState(160)
  const [open, setOpen] = useState(false)
  const [text, setText] = useState('fix/crlf')
  const [isOn, setIsOn] = useState(true)
  return (
    <div className="components">
      <h1>Components</h1>
      <Group name="Buttons">
        {LOOKS.map(look => (
          <Specimen key={look} name={`button ${look}`}>
            <Button look={look}>Allow</Button>
            <Button look={look} size="small">
              Small
            </Button>
            <Button look={look} disabled>
              Off
            </Button>
          </Specimen>
        ))}
        <Specimen name="icon buttons">
          <IconButton icon="copy" label="Copy" />
          <IconButton icon="more" label="More" disabled />
          <CopyButton text="npm start" label="Copy the command" />
        </Specimen>
      </Group>
      <Group name="Choices">
        <Specimen name="picker">
          <Picker label="Permissions" icon="shield" value={option} options={OPTIONS} onChange={setOption} />
        </Specimen>
        <Specimen name="picker strong">
          <Picker
            label="Project"
            icon="folder"
            look="strong"
            value={option}
            options={OPTIONS}
            onChange={setOption}
          />
        </Specimen>
        <Specimen name="picker boxed">
          <Picker label="Scope" look="boxed" value={option} options={OPTIONS} onChange={setOption} />
        </Specimen>
        <Specimen name="picker disabled">
          <Picker label="Model" value={option} options={OPTIONS} onChange={setOption} disabled />
        </Specimen>
        <Specimen name="segmented">
          <Segmented
            label="View"
            value={segment}
            onChange={setSegment}
            segments={['a', 'b', 'c'].map(value => ({ value, label: value.toUpperCase() }))}
          />
        </Specimen>
        <Specimen name="menus">
          <Menu
            trigger={<Button>Menu</Button>}
            title="What now?"
            items={[
              { label: 'Rename', icon: 'edit', onSelect: nothing },
              { label: 'Delete', icon: 'remove', danger: true, onSelect: nothing },
            ]}
          />
          <LongMenu
            trigger={<Button>Long menu</Button>}
            title="Folder"
            items={Array.from({ length: 12 }, (_, i) => ({
              label: `Entry ${i}`,
              checked: i === 2,
              onSelect: nothing,
            }))}
          />
        </Specimen>
      </Group>
      <Group name="Fields">
        <Specimen name="field">
          <Field label="Name" hint="One line that helps.">
            {id => <input id={id} className="input" defaultValue="parser-kit" />}
          </Field>
        </Specimen>
        <Specimen name="field code">
          <Field label="Folder" hint={<span role="alert">The folder does not exist.</span>}>
            {id => <input id={id} className="input input--code" placeholder="~/project" />}
          </Field>
        </Specimen>
        <Specimen name="select field">
          <SelectField
            label="Permissions"
            hint="For new sessions."
            value={option}
            options={OPTIONS}
            onChange={setOption}
          />
        </Specimen>
        <Specimen name="text field">
          <TextField label="Branch" isCode hint="Made if missing." value={text} onChange={setText} />
        </Specimen>
        <Specimen name="form">
          <Form
            className="components__form"
            label="Commit"
            failure="Nothing is staged."
            foot={<Button look="primary">Commit</Button>}
            onSend={() => {}}
          >
            {null}
          </Form>
        </Specimen>
        <Specimen name="check field">
          <CheckField label="Run the hooks" isOn={isOn} onChange={setIsOn} />
        </Specimen>
      </Group>
      <Group name="Marks">
        <Specimen name="cost">
          <Cost status={{ costUsd: 1.2, costIsEstimate: false, tokens: 9 }} />
          {/* Not an estimate: the fonts have no ≈, and another machine draws it otherwise. */}
          <Cost status={{ costUsd: 0.0042, costIsEstimate: false, tokens: 9 }} burn={0.25} />
        </Specimen>
        <Specimen name="words to type">
          <p>
            <Words text="Install it with `npm install`, then start it." />
          </p>
        </Specimen>
        {TONES.map(tone => (
          <Specimen key={tone} name={`dot ${tone}`}>
            <Dot tone={tone} />
          </Specimen>
        ))}
        <Specimen name="brand">
          <Brand working={false} needsYou={false} />
          <Brand working needsYou={false} />
          <Brand working needsYou />
        </Specimen>
        <Specimen name="meters">
          <Meter value={2} max={10} label="A little" />
          <Meter value={95} max={100} label="Nearly all" />
        </Specimen>
        <Specimen name="keys">
          <Kbd>N</Kbd>
          <Kbd>Ctrl K</Kbd>
        </Specimen>
      </Group>
      <Group name="Icons">
        <p className="components__icons" data-specimen="icons">
          {ICON_NAMES.map(name => (
            <Icon key={name} name={name} />
          ))}
        </p>
      </Group>
      <Group name="Nothing yet">
        <Specimen name="empty">
          <Empty title="Nothing is archived">What you archive can be found here.</Empty>
        </Specimen>
        <Specimen name="skeleton">
          <Skeleton lines={3} label="Loading" />
        </Specimen>
      </Group>
      <Group name="Over the page">
        <Specimen name="splitter">
          <div className="components__part">
            <Splitter
              {...{ label: 'Width', side: 'left', value: width, min: 80, max: 300, normal: 160 }}
              onChange={setWidth}
            />
          </div>
        </Specimen>
        <Specimen name="dialog and message">
          <Button onClick={() => setOpen(true)}>Open a dialog</Button>
          <Button onClick={() => toasts.error('The folder could not be added.')}>Show a message</Button>
        </Specimen>
      </Group>
      <Group name="Surfaces">
        {SURFACES.map(surface => (
          <Specimen key={surface} name={`surface ${surface}`}>
            <span className={`components__surface components__surface--${surface}`}>{surface}</span>
          </Specimen>
        ))}
      </Group>
      {open ? (
        <Dialog title="Rename the session" onClose={() => setOpen(false)}>
          <div className="session-dialog">
            <Field label="Title" hint="Enter saves it.">
              {id => <input id={id} className="input" data-first defaultValue="Mend the parser" />}
            </Field>
            <div className="session-dialog__foot">
              <Button look="quiet">Cancel</Button>
              <Button look="primary">Rename</Button>
            </div>
          </div>
        </Dialog>
      ) : null}
    </div>
  )
}

function Group({ name, children }: { name: string; children: ReactNode }) {
  return (
    <section aria-label={name}>
      <h2>{name}</h2>
      <div className="components__row">{children}</div>
    </section>
  )
}

/** A place of its own size, so that one that changes moves no other. */
function Specimen({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="components__specimen" data-specimen={name}>
      {children}
    </div>
  )
}

function nothing(): void {}
