//! Checks Mach-O and PE images: each must be a whole library for this processor.

use object::{Architecture, BinaryFormat, Object, ObjectKind, ObjectSection, ObjectSegment};

use super::Fault;

/// The processor of this build.
const OURS: Architecture = if cfg!(target_arch = "x86_64") { Architecture::X86_64 } else { Architecture::Aarch64 };

/// Checks that `image` is a shared library of `format` whose segments and sections lie inside it. A universal Mach-O
/// file, of several images, is refused.
pub(super) fn check(image: &[u8], format: BinaryFormat) -> Result<(), Fault> {
    let file = object::File::parse(image).map_err(|_| Fault::Foreign("it does not begin as a library does"))?;
    if file.format() != format {
        return Err(Fault::Foreign("it is for another system"));
    }
    if file.kind() != ObjectKind::Dynamic {
        return Err(Fault::Foreign("it is not a shared library"));
    }
    if file.architecture() != OURS {
        return Err(Fault::Foreign("it is for another processor"));
    }
    let segments = file.segments().map(|segment| segment.file_range());
    let sections = file.sections().filter_map(|section| section.file_range());
    let end = segments.chain(sections).map(|(start, size)| start.saturating_add(size)).max();
    // The parser skips load commands that are cut off.
    let end = end.ok_or(Fault::Damaged("it has no segment"))?;
    if end > image.len() as u64 { Err(Fault::Short(end)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Where the only section of an image begins, and where the image ends.
    const SECTION: u32 = 512;
    const END: u32 = 1024;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn name(name: &str, length: usize) -> Vec<u8> {
        let mut bytes = name.as_bytes().to_vec();
        bytes.resize(length, 0);
        bytes
    }

    /// A Mach-O file of that type, 6 for a library, with one segment of one section (`mach-o/loader.h`).
    fn mach_o(file_type: u32) -> Vec<u8> {
        let processor = if OURS == Architecture::X86_64 { 0x0100_0007 } else { 0x0100_000c };
        let header = words(&[0xfeed_facf, processor, 0, file_type, 1, 72 + 80, 0, 0]);
        // LC_SEGMENT_64: addresses and sizes of 64 bits, then protection, sections and flags.
        let segment = [words(&[0x19, 72 + 80]), name("__TEXT", 16), words(&[0, 0, END, 0, 0, 0, END, 0, 5, 5, 1, 0])];
        let place = words(&[SECTION, 0, END - SECTION, 0, SECTION, 0, 0, 0, 0, 0, 0, 0]);
        let section = [name("__text", 16), name("__TEXT", 16), place];
        let mut image = [vec![header], segment.into(), section.into()].concat().concat();
        image.resize(END as usize, 0);
        image
    }

    /// A PE file with these characteristics, 0x2022 for a library, and one section (Microsoft's "PE Format").
    fn pe(characteristics: u16) -> Vec<u8> {
        const OPTIONAL_HEADER: u16 = 240;
        let processor: u16 = if OURS == Architecture::X86_64 { 0x8664 } else { 0xaa64 };
        let dos = [name("MZ", 60), words(&[64])].concat();
        let counts = [processor.to_le_bytes(), 1u16.to_le_bytes()].concat();
        let sizes = [OPTIONAL_HEADER.to_le_bytes(), characteristics.to_le_bytes()].concat();
        let coff = [name("PE", 4), counts, words(&[0, 0, 0]), sizes].concat();
        // PE32+; its last four bytes state that 16 directories follow.
        let mut optional = [words(&[0x020b]), vec![0; 100], words(&[0, 16])].concat();
        optional.resize(usize::from(OPTIONAL_HEADER), 0);
        let section =
            [name(".text", 8), words(&[END - SECTION, 4096, END - SECTION, SECTION, 0, 0, 0, 0x6000_0020])].concat();
        let mut image = [dos, coff, optional, section].concat();
        image.resize(END as usize, 0);
        image
    }

    #[test]
    fn a_whole_library_passes_and_each_other_file_says_why_not() {
        assert_eq!(check(&mach_o(6), BinaryFormat::MachO), Ok(()));
        assert_eq!(check(&pe(0x2022), BinaryFormat::Pe), Ok(()));
        let foreign = |image: &[u8], format, why| assert_eq!(check(image, format), Err(Fault::Foreign(why)));
        foreign(&mach_o(6), BinaryFormat::Pe, "it is for another system");
        foreign(&mach_o(2), BinaryFormat::MachO, "it is not a shared library");
        foreign(&pe(0x0022), BinaryFormat::Pe, "it is not a shared library");
        foreign(b"MZ", BinaryFormat::Pe, "it does not begin as a library does");
        let mut other_processor = mach_o(6);
        other_processor[4..8].copy_from_slice(&0x0100_0012_u32.to_le_bytes());
        foreign(&other_processor, BinaryFormat::MachO, "it is for another processor");
    }

    #[test]
    fn every_beginning_of_an_image_is_refused() {
        for (image, format) in [(mach_o(6), BinaryFormat::MachO), (pe(0x2022), BinaryFormat::Pe)] {
            for length in 0..image.len() {
                assert!(check(&image[..length], format).is_err(), "{format:?} of {length} bytes");
            }
            let short = check(&image[..image.len() - 1], format);
            assert_eq!(short, Err(Fault::Short(u64::from(END))), "{format:?}");
        }
    }

    proptest! {
        #[test]
        fn damaged_headers_are_refused_or_pass_and_no_more(
            damage in prop::collection::vec((0usize..512, any::<u8>()), 1..8),
        ) {
            for (mut image, format) in [(mach_o(6), BinaryFormat::MachO), (pe(0x2022), BinaryFormat::Pe)] {
                for &(at, byte) in &damage {
                    image[at] = byte;
                }
                let _ = check(&image, format);
            }
        }
    }
}
