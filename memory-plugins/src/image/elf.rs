//! ELF (System V gABI): checks the program headers, which the loader trusts, against the file and the section headers.

use object::{
    Endianness, elf,
    read::elf::{FileHeader, ProgramHeader, SectionHeader},
};

use super::Fault;

#[cfg(target_pointer_width = "64")]
type Header = elf::FileHeader64<Endianness>;
#[cfg(target_pointer_width = "32")]
type Header = elf::FileHeader32<Endianness>;

/// The most bytes of address space that a library may span.
const WIDEST: u64 = 4 << 30;

/// The largest alignment of a segment: a huge page.
const COARSEST: u64 = 2 << 20;

/// The largest page size of a supported machine.
const PAGE: u64 = 64 << 10;

/// Machines with a known number; on others the number is not checked.
const MACHINE: Option<u16> = if cfg!(target_arch = "x86_64") {
    Some(elf::EM_X86_64.0)
} else if cfg!(target_arch = "aarch64") {
    Some(elf::EM_AARCH64.0)
} else {
    None
};

/// A range of the file and its range of addresses.
#[derive(Clone, Copy, Debug)]
struct Span {
    offset: u64,
    file_size: u64,
    address: u64,
    memory_size: u64,
}

impl Span {
    /// Whether it lies in `load`, at the address to which `load` maps its bytes.
    fn lies_in(&self, load: &Self) -> bool {
        let in_memory = load.address <= self.address
            && self.address.saturating_add(self.memory_size) <= load.address.saturating_add(load.memory_size);
        let in_file = self.file_size == 0
            || load.offset <= self.offset
                && self.offset.saturating_add(self.file_size) <= load.offset.saturating_add(load.file_size)
                && self.offset - load.offset == self.address.wrapping_sub(load.address);
        in_memory && in_file
    }

    /// As [`Self::lies_in`], but its memory may end with the last page of `load`.
    fn lies_in_pages(&self, load: &Self) -> bool {
        let end = load.address.saturating_add(load.memory_size).div_ceil(PAGE).saturating_mul(PAGE);
        let padded = Self { memory_size: end.saturating_sub(load.address), ..*load };
        self.lies_in(&padded)
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.memory_size > 0
            && other.memory_size > 0
            && self.address < other.address.saturating_add(other.memory_size)
            && other.address < self.address.saturating_add(self.memory_size)
    }
}

/// A program header.
#[derive(Clone, Copy, Debug)]
struct Segment {
    kind: u32,
    flags: u32,
    align: u64,
    span: Span,
}

pub(super) fn check(image: &[u8]) -> Result<(), Fault> {
    let (header, endian) = header(image)?;
    let cut = |_| Fault::Short(length(image) + 1);
    let end = |start: u64, count: u16, size: u16| start.saturating_add(u64::from(count) * u64::from(size));
    inside(image, end(word(header.e_phoff(endian)), header.e_phnum(endian), header.e_phentsize(endian)))?;
    inside(image, end(word(header.e_shoff(endian)), header.e_shnum(endian), header.e_shentsize(endian)))?;
    let segments: Vec<_> = header
        .program_headers(endian, image)
        .map_err(cut)?
        .iter()
        .map(|segment| Segment {
            kind: segment.p_type(endian).0,
            flags: segment.p_flags(endian).0,
            align: word(segment.p_align(endian)),
            span: Span {
                offset: word(segment.p_offset(endian)),
                file_size: word(segment.p_filesz(endian)),
                address: word(segment.p_vaddr(endian)),
                memory_size: word(segment.p_memsz(endian)),
            },
        })
        .collect();
    let loads: Vec<_> = segments.iter().filter(|segment| segment.kind == elf::PT_LOAD.0).copied().collect();
    check_loads(image, &loads)?;
    check_segments(&segments, &loads)?;
    check_sections(image, header, endian, &segments, &loads)
}

/// The file's header, if it is that of a library for this machine.
fn header(image: &[u8]) -> Result<(&Header, Endianness), Fault> {
    if !image.starts_with(b"\x7fELF") {
        return Err(Fault::Foreign("it does not begin as an ELF file does"));
    }
    if image.len() < size_of::<Header>() {
        return Err(Fault::Short(size_of::<Header>() as u64));
    }
    let other = |_| Fault::Foreign("it is for another word size or byte order");
    let header = Header::parse(image).map_err(other)?;
    let endian = header.endian().map_err(other)?;
    if endian != Endianness::default() {
        return Err(Fault::Foreign("it is for another word size or byte order"));
    }
    if MACHINE.is_some_and(|machine| header.e_machine(endian).0 != machine) {
        return Err(Fault::Foreign("it is for another processor"));
    }
    if header.e_type(endian) != elf::ET_DYN {
        return Err(Fault::Foreign("it is not a shared library"));
    }
    let system = header.e_ident().os_abi;
    if system != elf::ELFOSABI_SYSV && system != elf::ELFOSABI_GNU {
        return Err(Fault::Foreign("it is for another system"));
    }
    let sizes = (usize::from(header.e_phentsize(endian)), usize::from(header.e_shentsize(endian)));
    let program_header = size_of::<<Header as FileHeader>::ProgramHeader>();
    let section_header = size_of::<<Header as FileHeader>::SectionHeader>();
    let no_sections = header.e_shnum(endian) == 0;
    if sizes.0 != program_header || !(no_sections || sizes.1 == section_header) {
        return Err(Fault::Damaged("its header states sizes that no header has"));
    }
    if header.e_version(endian) != u32::from(elf::EV_CURRENT.0) {
        return Err(Fault::Damaged("its header states an unknown version"));
    }
    Ok((header, endian))
}

/// Checks the loaded segments: inside the file, in order, without overlap.
fn check_loads(image: &[u8], loads: &[Segment]) -> Result<(), Fault> {
    let (Some(first), Some(last)) = (loads.first(), loads.last()) else {
        return Err(Fault::Foreign("it has nothing to load"));
    };
    for load in loads {
        let Span { offset, file_size, address, memory_size } = load.span;
        inside(image, offset.saturating_add(file_size))?;
        if file_size > memory_size || address.checked_add(memory_size).is_none() {
            return Err(Fault::Damaged("a segment is larger in the file than in memory"));
        }
        if load.align > COARSEST || load.align > 1 && !load.align.is_power_of_two() {
            return Err(Fault::Damaged("a segment has an invalid alignment"));
        }
        if load.align > 1 && address % load.align != offset % load.align {
            return Err(Fault::Damaged("a segment lies at an address that its alignment forbids"));
        }
    }
    let in_order = loads.is_sorted_by_key(|load| load.span.address);
    let overlap = loads.windows(2).any(|pair| matches!(pair, [low, high] if low.span.overlaps(&high.span)));
    if !in_order || overlap {
        return Err(Fault::Damaged("its segments overlap"));
    }
    if last.span.address + last.span.memory_size - first.span.address > WIDEST {
        return Err(Fault::Damaged("its segments span more than 4 GiB"));
    }
    Ok(())
}

/// Checks the segments that point into loaded ones.
fn check_segments(segments: &[Segment], loads: &[Segment]) -> Result<(), Fault> {
    for segment in segments {
        let span = segment.span;
        let within = |test: fn(&Span, &Span) -> bool| loads.iter().any(|load| test(&span, &load.span));
        let well_placed = match elf::ProgramType(segment.kind) {
            elf::PT_DYNAMIC | elf::PT_NOTE | elf::PT_GNU_EH_FRAME | elf::PT_GNU_PROPERTY | elf::PT_PHDR => {
                within(Span::lies_in)
            }
            elf::PT_GNU_RELRO => within(Span::lies_in_pages),
            // The zeros of thread-local data take no room in the library.
            elf::PT_TLS => {
                let initial = Span { memory_size: span.file_size, ..span };
                let aligned = segment.align <= 1 || segment.align.is_power_of_two() && segment.align <= PAGE;
                aligned
                    && span.file_size <= span.memory_size
                    && span.memory_size <= COARSEST
                    && loads.iter().any(|load| initial.lies_in(&load.span))
            }
            elf::PT_GNU_STACK => segment.flags & elf::PF_X.0 == 0,
            _ => true,
        };
        if !well_placed {
            return Err(Fault::Damaged("a program header points outside the mapped segments"));
        }
    }
    if segments.iter().filter(|segment| segment.kind == elf::PT_DYNAMIC.0).count() != 1 {
        return Err(Fault::Foreign("it has no dynamic section"));
    }
    Ok(())
}

/// Checks the segments against the sections, which the loader does not read.
fn check_sections(
    image: &[u8],
    header: &Header,
    endian: Endianness,
    segments: &[Segment],
    loads: &[Segment],
) -> Result<(), Fault> {
    let cut = |_| Fault::Damaged("its section headers are invalid");
    let sections = header.sections(endian, image).map_err(cut)?;
    let of_kind = |kind: elf::ProgramType| segments.iter().filter(move |segment| segment.kind == kind.0);
    let mut threads = false;
    for section in sections.iter() {
        let flags = section.sh_flags(endian).0;
        let has = |flag: elf::SectionFlags| flags & flag.0 == flag.0;
        let no_bits = section.sh_type(endian) == elf::SHT_NOBITS;
        let size = word(section.sh_size(endian));
        let span = Span {
            offset: word(section.sh_offset(endian)),
            file_size: if no_bits { 0 } else { size },
            address: word(section.sh_addr(endian)),
            memory_size: size,
        };
        inside(image, span.offset.saturating_add(span.file_size))?;
        if !has(elf::SHF_ALLOC) || size == 0 {
            continue;
        }
        let name = sections.section_name(endian, section).map_err(cut)?;
        if has(elf::SHF_TLS) {
            threads = true;
            if !of_kind(elf::PT_TLS).any(|threads| span.lies_in(&threads.span)) {
                return Err(Fault::Damaged("a section of thread locals lies outside of their segment"));
            }
            if no_bits {
                continue;
            }
        }
        let mut needed = elf::PF_R.0;
        needed |= if has(elf::SHF_WRITE) { elf::PF_W.0 } else { 0 };
        needed |= if has(elf::SHF_EXECINSTR) { elf::PF_X.0 } else { 0 };
        let fits = |load: &Segment| load.flags & needed == needed && span.lies_in(&load.span);
        if !loads.iter().any(fits) {
            return Err(Fault::Damaged("a section lies outside of the segments that may hold it"));
        }
        let is_data = matches!(name, b".data" | b".bss");
        if is_data && of_kind(elf::PT_GNU_RELRO).any(|fixed| fixed.span.overlaps(&span)) {
            return Err(Fault::Damaged("writable data would be made read-only"));
        }
        if section.sh_type(endian) == elf::SHT_DYNAMIC
            && !of_kind(elf::PT_DYNAMIC).any(|dynamic| dynamic.span.address == span.address)
        {
            return Err(Fault::Damaged("its dynamic section is not where its header says"));
        }
    }
    if !sections.is_empty() && !threads && of_kind(elf::PT_TLS).next().is_some() {
        return Err(Fault::Damaged("it has a segment of thread locals and no such section"));
    }
    Ok(())
}

/// A field of a header, for either word size.
fn word(field: impl Into<u64>) -> u64 {
    field.into()
}

fn inside(image: &[u8], end: u64) -> Result<(), Fault> {
    if end <= length(image) { Ok(()) } else { Err(Fault::Short(end)) }
}

fn length(image: &[u8]) -> u64 {
    image.len() as u64
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::{env, fs};

    use super::*;

    /// A test binary is position-independent, so it passes as a library.
    fn image() -> Vec<u8> {
        fs::read(env::current_exe().unwrap()).unwrap()
    }

    #[test]
    fn every_beginning_of_a_real_image_is_refused_without_opening_it() {
        let mut image = image();
        assert_eq!(check(&image), Ok(()));
        while image.pop().is_some() {
            assert!(check(&image).is_err(), "{} bytes", image.len());
            image.truncate(image.len() * 9 / 10);
        }
    }

    #[test]
    fn segments_that_contradict_the_sections_are_refused() {
        let image = image();
        let (header, endian) = header(&image).unwrap();
        let table = usize::try_from(header.e_phoff(endian)).unwrap();
        let segments = header.program_headers(endian, image.as_slice()).unwrap();
        let loads = segments.iter().enumerate().filter(|(_, segment)| segment.p_type(endian) == elf::PT_LOAD);
        for (index, _) in loads {
            // Its type, flags, offset and address.
            for field in [0, 4, 8, 16] {
                let mut damaged = image.clone();
                damaged[table + index * 56 + field + 1] ^= 0x30;
                damaged[table + index * 56 + field] ^= 0x05;
                assert!(check(&damaged).is_err(), "segment {index}, byte {field}");
            }
        }
    }
}
